"""What papers and other tools call things, and what they are called here: read only after an error.

Each hint is what to write. Where another word means another number, a scale where somebody has an
epsilon, it says how one comes from the other.
"""

from __future__ import annotations

import re

__all__ = ["foreign", "mechanism", "parameter", "wrapper"]

# What other tools call the parts of a training run, in snake_case.
_RATES = ("sample_rate", "sampling_rate", "sampling_probability", "sample_probability", "q")
_STEPS = ("steps", "num_steps", "n_steps", "iterations", "rounds", "compositions", "count")
_EPOCHS = ("epochs", "num_epochs", "n_epochs", "epoch")
_BATCHES = ("batch_size", "batchsize", "lot_size", "batch")
_NOISES = ("noise_multiplier", "sigma", "noise_scale")
_TRAINING = ("dpsgd", "dp_sgd", "sgd", "dp_adam", "dpadam", "dp_training", "dp_sgdm", "adam")

# Mechanisms by the names that others give them.
_GAUSSIAN = "write gaussian:sigma=NOISE"
_LAPLACE = "write laplace:scale=NOISE, which is sensitivity / epsilon"
_DISCRETE = "write discrete-laplace:scale=NOISE, or discrete-laplace:epsilon=E,sensitivity=1"
_EXPONENTIAL = "write exponential:epsilon=E"
_NOISY_MAX = "the best of several noisy scores is noisy-max: see privcalc --help-spec noisy-max"
_SVT = "the sparse vector technique is svt: see privcalc --help-spec svt"
_KEYS = (
    "counts of unknown keys that are published above a threshold are thresholded-counts; of a"
    " stream of queries svt"
)
_SUPPRESSED = (
    "leaving out counts of known keys whose noisy value is small costs nothing; counts of unknown"
    " keys that are published above a threshold are thresholded-counts"
)
_CODE = "which specification is which code: see privcalc --help-spec sampling"
_CENSUS = (
    "a guarantee stated in rho is zcdp:rho=R; tables with discrete Gaussian noise are"
    " discrete-gaussian:sigma=NOISE@TABLES"
)
_SMOOTH = (
    "a number with noise of its smooth sensitivity, of which a noisy one is published too, is gnss;"
    " of others state what is proved: approx:epsilon=E,delta=D"
)
_BUDGET = (
    "a budget is a file, privcalc compose --file privacy.toml, or an option: privcalc compose SPEC"
    " --delta D --max-epsilon E"
)
_MATRIX = "noise that steps share is matrix-gaussian: see privcalc --help-spec matrix-gaussian"
_PURE = "write pure:epsilon=E"
_APPROX = "write approx:epsilon=E,delta=D"
_RESPONSE = "write rr:epsilon=E, or rr:p=KEPT,categories=K"
_CURVE = (
    "no mechanism of its own: give its Renyi curve, rdp:file=FILE, its profile, profile:file=FILE,"
    " or its outcomes, pmf:file=FILE"
)
# What is released, where a mechanism is asked for: how its noise is described, with what one record
# changes, added or removed and replaced.
_HISTOGRAM = (
    "all disjoint bins are one laplace:scale=NOISE, as a record is in one of them; a replaced one"
    " changes two: sensitivity=2 (of gaussian:sigma=NOISE it is 1.414214), or one use for each of"
    " the two bins where noise is discrete: discrete-gaussian:sigma=NOISE@2"
)
_COUNT = (
    "a count is discrete-laplace:scale=NOISE, or laplace or gaussian, as one record changes it by"
    " 1 at most; @N repeats N times"
)
_SUM = (
    "a sum of values from L to U is laplace:scale=NOISE,sensitivity=S, or gaussian: S is the larger"
    " of |L| and |U|, and U - L where a record is replaced"
)
_MEAN = (
    "a mean of n values from L to U is laplace:scale=NOISE,sensitivity=S with S = (U - L)/n and"
    " --relation replace-one; where n is to be hidden, a sum + a count"
)
_QUANTILE = (
    "drawn by the exponential mechanism it is exponential:epsilon=E, whose score is less the"
    " distance in ranks: a record changes that by 1 at most, under either relation"
)
_TOP = (
    "the best k, drawn one after the other, are exponential:epsilon=E@k, or noisy-max with fresh"
    " noise each time"
)
_HISTORY = "the history of a training run is opacus:file=FILE"
_MECHANISMS = {
    _GAUSSIAN: "normal gauss n gm awgn gaussian_mechanism gaussian_noise normal_noise"
    " analytic_gaussian",
    _LAPLACE: "lap laplacian laplace_mechanism laplace_noise double_exponential",
    _DISCRETE: "geometric two_sided_geometric geometric_mechanism discrete_laplacian dlap",
    "write discrete-gaussian:sigma=NOISE": "dgauss discrete_normal discrete_gauss",
    _EXPONENTIAL: "exp em exponential_mechanism expmech gumbel permute_and_flip",
    _NOISY_MAX: "rnm report_noisy_max noisymax argmax noisy_argmax noisy_maximum max_noisy mode",
    _HISTOGRAM: "histogram hist histograms bins table contingency contingency_table crosstab"
    " marginal marginals group_by groupby frequencies",
    _COUNT: "count counts counting counter dp_count private_count",
    _SUM: "sum sums bounded_sum clipped_sum dp_sum total",
    _MEAN: "mean average avg bounded_mean dp_mean",
    _QUANTILE: "median quantile quantiles percentile percentiles dp_median",
    _TOP: "top_k topk top one_shot_top_k",
    _SVT: "sparse sparse_vector sparse_vector_technique",
    _MATRIX: "tree tree_aggregation binary_tree ftrl dp_ftrl mf dp_mf matrix matrix_factorization"
    " matrix_mechanism banded band_mf blt toeplitz",
    _KEYS: "threshold thresholds thresholding unknown_keys unknown_domain keys key_selection"
    " partitions",
    _SUPPRESSED: "suppression suppressed suppress small_counts small_cells cell_suppression",
    _CODE: "jax jax_privacy pytorch torch tensorflow tf tf_privacy keras dataloader data_loader"
    " loader training shuffle_true",
    _CENSUS: "census disclosure_avoidance topdown",
    _SMOOTH: "smooth smooth_sensitivity local_sensitivity",
    _BUDGET: "budget budgets privacy_budget toml ci",
    _PURE: "dp eps epsilon epsilon_dp eps_dp pure_dp puredp differential_privacy",
    _APPROX: "adp approx_dp approximate approximate_dp eps_delta epsilon_delta ed_dp dp_delta",
    _RESPONSE: "krr k_rr grr warner coin coin_flip randomised randomized response direct_encoding",
    _CURVE: "skellam gamma cauchy student student_t uniform snapping tcdp subgaussian lognormal",
    "write gdp:mu=M": "mu gaussian_dp mu_gdp f_dp fdp",
    "write zcdp:rho=R": "rho cdp concentrated zero_concentrated concentrated_dp zero_cdp",
    "write rdp:order=ALPHA,epsilon=E, or rdp:file=FILE": "renyi renyi_dp alpha",
    _HISTORY: "history accountant opacus_history json file rdp_accountant prv ledger",
    "the best of several runs is privcalc select SPEC --runs geometric:mean=30": "tuning",
    "privcalc compose --help explains the command": "help usage man",
}
# What is done to a mechanism.
_SAMPLING = (
    "@poisson:q=RATE where each record joins by itself, @wor:n=RECORDS,m=BATCH for batches of one"
    " size, @batches:t=STEPS for shuffled epochs"
)
_SHUFFLED = (
    "@batches:t=STEPS for batches of shuffled epochs, @shuffle:n=PEOPLE for shuffled reports"
)
_WRAPPERS = {
    _SAMPLING: "sampling sample sampled subsample subsampled subsampling amplified amplification"
    " minibatch batching random",
    _SHUFFLED: "shuffled shuffling reshuffle permuted permutation",
    "write @poisson:q=RATE": "bernoulli iid binomial independent",
    "write @wor:n=RECORDS,m=BATCH": "without_replacement fixed fixed_size fixed_batch uniform swor"
    " replace replacement",
    "sampling with replacement is not accounted for": "wr with_replacement swr",
    "write @group:k=RECORDS": "user users user_level groups group_size records contributions"
    " household households family families person people",
    "write @COUNT, as in @1000": "repeat repeated times compose composed composition x",
    "write @allocation:t=STEPS": "balls balls_in_bins ball_in_bins bins random_allocation",
    "mechanisms on disjoint parts of the data are max(A,B)": "parallel disjoint partition",
    "write @select:runs=geometric,mean=30": "tuning best best_of tune hyperparameters",
}
# Noise by the names of others: those of a standard deviation, and of a scale of Laplace noise.
_DEVIATIONS = (
    "std", "sd", "stddev", "stdev", "std_dev", "s", "noise", "noise_std", "noise_scale",
    "noise_stddev", "noise_level", "scale", "sig", "standard_dev",
)  # fmt: skip
_SCALES = ("b", "lambda", "lam", "beta", "width", "noise", "noise_scale", "diversity", "decay")
_CLIPS = (
    "clip", "clipping", "clip_norm", "clipping_norm", "c", "max_grad_norm", "l2_norm_clip", "l2",
    "l1", "norm", "bound", "l2_sensitivity", "l1_sensitivity", "max_norm", "delta_f", "s2",
)  # fmt: skip
_PROBABILITIES = (
    "rate", "p", "prob", "probability", "gamma", "fraction", "ratio", "sampling", "sampling_prob",
    "sample_prob", "pr",
)  # fmt: skip
_SIZES = ("b", "k", "size", "batches", "bs", "sample_size", "lot", *_BATCHES)
_RECORDS = (
    "population",
    "dataset_size",
    "records",
    "num_examples",
    "data_size",
    "n_total",
    "total",
)


def mechanism(name: str) -> str:
    """Return what to write for the name of a mechanism, in snake_case, or ""."""
    if hint := _meant(name, _MECHANISMS) or foreign(name):
        return hint
    after = _meant(name, _WRAPPERS)
    return f"it stands after a mechanism: {after.removeprefix('write ')}" if after else ""


def wrapper(name: str) -> str:
    """Return what to write for the name of what is done to a mechanism, in snake_case, or ""."""
    if hint := _meant(name, _WRAPPERS) or foreign(name, inside="wrapper"):
        return hint
    other = _meant(name, _MECHANISMS)
    return f"it is no wrapper; compose with +: {other.removeprefix('write ')}" if other else ""


def _meant(name: str, table: dict[str, str]) -> str:
    return next((hint for hint, names in table.items() if name in names.split()), "")


def foreign(word: str, value: str = "", *, inside: str = "") -> str:
    """Return how a specification has what other tools call so, or "".

    Args:
        word: the name, in snake_case.
        value: what was written for it.
        inside: the kind of the call that it was written in, or "" outside of one.
    """
    if word in _RATES:
        rate = f"q={value or 'RATE'}"
        if inside == "wrapper":
            return f"write {rate}"
        return f"sampling stands after the mechanism: @poisson:{rate}"
    if word in _BATCHES:
        rate = f"q={value or 'BATCH'}/RECORDS"
        before = "" if inside == "wrapper" else "@poisson:"
        return f"the sampling rate is batch size / records: {before}{rate}"
    if word in _STEPS:
        return f"steps stand after what is repeated: @{value if value.isdigit() else 'STEPS'}"
    if word in _EPOCHS:
        return (
            "count steps, which are epochs x records / batch size: @STEPS, after the rest; of"
            " shuffled batches and of allocation, epochs"
        )
    if word in _TRAINING:
        return "DP-SGD is gaussian:sigma=NOISE@poisson:q=BATCH/RECORDS@STEPS"
    if word in _NOISES and not inside:
        return f"noise is a part of SPEC: gaussian:sigma={value or 'NOISE'}"
    return ""


def parameter(owner: str, kind: str, word: str, value: str, known: tuple[str, ...]) -> str:
    """Return what to write for a parameter that is unknown, or "".

    Args:
        owner: whose parameter it is, as the canonical text spells it.
        kind: mechanism or wrapper.
        word: its name, in snake_case.
        value: what was written for it, or "".
        known: the parameters that there are, as the canonical text spells them.
    """
    value = value if re.fullmatch(r"[\w.%/+-]{1,30}", value, re.ASCII) else ""
    specific = _OF_ONE.get(owner)
    if specific and (hint := specific(word, value)):
        return hint
    if kind == "wrapper" and word in ("sensitivity", "sigma", "scale", "noise_multiplier"):
        return f"{word} stands with the mechanism, before the @: MECHANISM:{word}={value or '...'}"
    if kind == "mechanism":
        if "sigma" in known and word in _DEVIATIONS:
            return f"write sigma={value or 'NOISE'}"
        if "scale" in known and word in (*_SCALES, *_DEVIATIONS, "sigma"):
            if word in _SCALES:
                return f"write scale={value or 'NOISE'}"
            if owner == "laplace":
                scale = _root(value, 2) or "SCALE"
                return f"write scale={scale}, which is the standard deviation / sqrt(2)"
            return "write scale=SCALE, of which the standard deviation is about sqrt(2) times"
        if "sensitivity" in known and word in _CLIPS:
            bound = value or "BOUND"
            return (
                f"write sensitivity={bound} beside sigma or scale, the noise that is added; of a"
                " noise_multiplier, which is noise / sensitivity, leave it out"
            )
    return foreign(word, value, inside=kind)


def _of_gaussian(word: str, value: str) -> str:
    if word in ("epsilon", "eps", "delta"):
        return (
            "the noise that meets a target is found by privcalc calibrate gaussian:sigma=_"
            " --epsilon E --delta D"
        )
    if word in ("variance", "var", "sigma2", "sigma_squared", "sigma_sq"):
        return f"write sigma={_root(value) or 'ROOT'}, the square root of the variance"
    return f"write gdp:mu={value or 'M'}" if word == "mu" else ""


def _of_laplace(word: str, value: str) -> str:
    if word not in ("epsilon", "eps"):
        return ""
    scale = f"1/{value}" if re.fullmatch(r"[0-9.]+", value) else "1/E"
    return f"write scale={scale}, which is sensitivity / epsilon"


def _of_poisson(word: str, value: str) -> str:
    if word in _PROBABILITIES:
        return f"write q={value or 'RATE'}"
    if word in _SIZES:
        return f"the sampling rate is batch size / records: q={value or 'BATCH'}/RECORDS"
    return "the records are the bottom of the rate: q=BATCH/RECORDS" if word in _RECORDS else ""


def _of_fixed_size(word: str, value: str) -> str:
    if word in _SIZES:
        return f"write m={value or 'BATCH'}"
    if word in _PROBABILITIES:
        return f"write q={value or 'RATE'}"
    return f"write n={value or 'RECORDS'}" if word in _RECORDS else ""


def _of_batches(word: str, value: str) -> str:
    if word in ("q", *_SIZES, *_RECORDS, *_PROBABILITIES):
        return "write n=RECORDS,b=BATCH, or t=STEPS, the batches of one epoch"
    if word in _EPOCHS:
        return _of_passes(word, value)
    if word in ("drop_last", "shuffle", "partial"):
        return (
            "n=RECORDS,b=BATCH has a last batch of fewer records; t=STEPS,n=RECORDS,b=BATCH is"
            " without it"
        )
    return f"write t={value or 'STEPS'}" if word in ("steps", "num_steps", "batches", "T") else ""


def _of_passes(word: str, value: str) -> str:
    if word not in _EPOCHS:
        return ""
    return f"a count after it is that of epochs: @{value if value.isdigit() else 'EPOCHS'}"


def _of_shuffle(word: str, value: str) -> str:
    if word in ("t", "steps", "batch_size", "b", "q"):
        return "reports of n people are shuffled; batches of shuffled data are @batches:t=STEPS"
    return f"write n={value or 'PEOPLE'}" if word in ("k", "users", "people", *_RECORDS) else ""


def _of_group(word: str, value: str) -> str:
    sizes = ("n", "m", "size", "group_size", "users", "records", "count")
    return f"write k={value or 'RECORDS'}" if word in sizes else ""


def _of_response(word: str, value: str) -> str:
    if word in ("k", "d", "n", "num_categories", "num_buckets", "buckets", "values", "m"):
        return f"write categories={value or 'K'}"
    if word in ("q", "prob", "probability", "keep", "flip", "gamma", "f"):
        return f"write p={value or 'KEPT'}, the chance that the answer is the true one"
    return ""


def _of_renyi(word: str, value: str) -> str:
    return f"write order={value or 'ALPHA'}" if word in ("alpha", "a", "lambda", "orders") else ""


def _of_pure(word: str, value: str) -> str:
    return f"write approx:epsilon=E,delta={value or 'D'}" if word == "delta" else ""


def _of_gdp(word: str, value: str) -> str:
    if word in _DEVIATIONS or word in ("sigma", "noise_multiplier"):
        mu = f"1/{value}" if re.fullmatch(r"[0-9.]+", value) else "1/NOISE"
        return f"write mu={mu}, which is sensitivity / sigma, or gaussian:sigma={value or 'NOISE'}"
    return ""


def _of_matrix(word: str, value: str) -> str:
    if word not in ("tree", "banded", "identity"):
        return ""
    return f"write strategy={word},steps={value if value.isdigit() else 'STEPS'}"


def _of_exponential(word: str, _value: str) -> str:
    if word not in ("sensitivity", *_CLIPS):
        return ""
    return (
        "epsilon is the factor in the weights exp(epsilon score / (2 sensitivity)): leave the"
        " sensitivity out"
    )


def _of_partitions(word: str, value: str) -> str:
    if word not in ("keys", "k", "contributions", "max_partitions_contributed", "partitions"):
        return ""
    # Each key is shown or not by itself, and costs one use at most, whoever else has it.
    most = value if value.isdigit() else "K"
    return f"each key is a use: for a person with up to {most} keys @{most} is an upper bound"


def _of_svt(word: str, _value: str) -> str:
    if word in ("scale", "b"):
        return "write threshold_noise=NOISE,query_noise=NOISE"
    if word in ("sigma", "std", "standard_deviation"):
        return "write noise=gaussian,threshold_noise=NOISE,query_noise=NOISE,length=QUERIES"
    scales = "it takes the scales of its noises: see privcalc --help-spec svt"
    return scales if word in ("epsilon", "eps", "delta") else ""


_OF_ONE = {
    "pure": _of_pure,
    "gdp": _of_gdp,
    "svt": _of_svt,
    "exponential": _of_exponential,
    "matrix-gaussian": _of_matrix,
    "partition-selection": _of_partitions,
    "gaussian": _of_gaussian,
    "laplace": _of_laplace,
    "poisson": _of_poisson,
    "wor": _of_fixed_size,
    "batches": _of_batches,
    "allocation": _of_passes,
    "shuffle": _of_shuffle,
    "group": _of_group,
    "randomized-response": _of_response,
    "rdp": _of_renyi,
}


def _root(value: str, divisor: int = 0) -> str:
    """Return the root of a decimal, or with a divisor the decimal by the root of that.

    In fifteen digits, rounded down: of noise, the safe side.
    """
    from decimal import ROUND_FLOOR, Context, Decimal

    if not re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,15})?", value, re.ASCII):
        return ""
    context = Context(prec=60, rounding=ROUND_FLOOR)
    number = Decimal(value)
    if divisor:
        number = context.divide(context.multiply(number, number), Decimal(divisor))
    # The root is rounded to nearest, many digits further out.
    root = Context(prec=15, rounding=ROUND_FLOOR).plus(context.sqrt(number))
    return f"{root.normalize():f}"
