"""Which specification is my code? One table, of which help, README and a manual page are made.

All rows are about the same run, so that they can be compared: n = 60000 records in batches of b =
256 for 60 epochs, Gaussian noise of 1.1 times the norm to which the gradient of each record is
clipped. What libraries do was read in the source of Opacus 1.6.0 and JAX-Privacy 2.0.0.
"""

from __future__ import annotations

from textwrap import indent, wrap

from privcalc.record import record

_WIDTH = 79


@record
class Loop:
    """One way in which code draws its batches.

    Attributes:
        title: who draws, a few words.
        code: literal lines, those that decide.
        spec: the specification.
        why: why it is that, and where its numbers come from.
        other: the nearest other specification, or "".
        wrong: what is wrong with it.
        brief: the code in one short line for the README, or "" where that has no row for it.
    """

    title: str
    code: tuple[str, ...]
    spec: str
    why: str
    other: str = ""
    wrong: str = ""
    brief: str = ""


LOOPS = (
    Loop(
        "Opacus, as it is",
        (
            "loader = DataLoader(data, batch_size=256, shuffle=True)",
            "model, optimizer, loader = PrivacyEngine().make_private(",
            "    module=model, optimizer=optimizer, data_loader=loader,",
            "    noise_multiplier=1.1, max_grad_norm=1.0)",
        ),
        "gaussian:sigma=1.1@poisson:q=1/235@14100",
        "poisson_sampling is True unless the call says otherwise: the loader that comes back draws"
        " Poisson samples, whatever shuffle says. q is 1 / len(loader), here 1 / 235, as the last"
        " batch counts; 60 epochs have 60 x 235 steps.",
        "gaussian:sigma=1.1@batches:t=235,b=256@60",
        "it is what shuffle=True would do, and that loader is not used.",
        brief="`make_private(...)` (Opacus, where `poisson_sampling=True` is the default)",
    ),
    Loop(
        "Opacus with the loader left as it is",
        (
            "loader = DataLoader(data, batch_size=256, shuffle=True,",
            "                    drop_last=True)",
            "engine.make_private(..., data_loader=loader,",
            "                    poisson_sampling=False)",
        ),
        "gaussian:sigma=1.1@batches:t=234,b=256@60",
        "The loader permutes the data anew in every epoch. get_epsilon() of the engine says what"
        " Poisson sampling would have cost all the same.",
        "gaussian:sigma=1.1@poisson:q=1/234@14040",
        "nothing is drawn by coin tosses; epsilon at delta 1e-5 would be 2.4 where it is above 11.",
        brief="`make_private(..., poisson_sampling=False)`, of a loader that shuffles",
    ),
    Loop(
        "A plain loop of PyTorch, all batches full",
        (
            "loader = DataLoader(data, batch_size=256, shuffle=True,",
            "                    drop_last=True)",
            "for epoch in range(60):",
            "    for batch in loader: ...",
        ),
        "gaussian:sigma=1.1@batches:t=234,n=60000,b=256@60",
        "t = n // b = 234 steps an epoch, and the count is that of epochs; n says that an epoch"
        " leaves out 96 records, by chance. Without n all are read, which costs hardly more.",
        "gaussian:sigma=1.1@batches:t=14040,b=256",
        "that is one pass over 60 times as many records.",
        brief="`DataLoader(data, batch_size=256, shuffle=True, drop_last=True)` (PyTorch)",
    ),
    Loop(
        "The same with a last batch that is smaller",
        (
            "loader = DataLoader(data, batch_size=256, shuffle=True)",
            "for epoch in range(60):",
            "    for batch in loader: ...   # 234 batches of 256, and one of 96",
        ),
        "gaussian:sigma=1.1@batches:n=60000,b=256@60",
        "n and b say all of it: 234 batches of 256 and one of 96, t = 235.",
        "gaussian:sigma=1.1@batches:t=235,b=256@60",
        "its last batch has 256 records, too.",
        brief="`DataLoader(data, batch_size=256, shuffle=True)` (the last batch is smaller)",
    ),
    Loop(
        "A fine-tune of 3 epochs",
        (
            "loader = DataLoader(data, batch_size=256, shuffle=True,",
            "                    drop_last=True)",
            "for epoch in range(3): ...",
        ),
        "gaussian:sigma=1.1@batches:t=234,b=256@3",
        "The count is the number of epochs, and t the steps of one.",
        "gaussian:sigma=1.1@batches:t=702,b=256",
        "with 3 x 234 = 702 batches a record would be in one of them, where it is in three.",
    ),
    Loop(
        "Data in an order that stays",
        (
            "data = data[rng.permutation(n)]                # once",
            "loader = DataLoader(data, batch_size=256, shuffle=False,",
            "                    drop_last=True)",
        ),
        "gaussian:sigma=1.1@60@batches:t=234",
        "A record is in the same step of every epoch: a count before @batches is one of epochs for"
        " which the permutation is kept.",
        "gaussian:sigma=1.1@batches:t=234@60",
        "that permutes anew in every epoch.",
        brief="`DataLoader(permuted_once, batch_size=256, shuffle=False, drop_last=True)`",
    ),
    Loop(
        "Data in the order in which they came",
        ("loader = DataLoader(data, batch_size=256, shuffle=False)",),
        "gaussian:sigma=1.1@60",
        "Whoever knows the order knows the step: no sampling, and one use for each epoch.",
        "gaussian:sigma=1.1@60@batches:t=234",
        "no permutation hides the place of the record.",
    ),
    Loop(
        "Several workers, each with its part of a batch",
        (
            "sampler = DistributedSampler(data, shuffle=True, drop_last=True)",
            "loader = DataLoader(data, batch_size=64, sampler=sampler,",
            "                    drop_last=True)                # on 4 workers",
            "for epoch in range(60):",
            "    sampler.set_epoch(epoch)",
        ),
        "gaussian:sigma=1.1@batches:t=234,b=256@60",
        "One step sees 4 x 64 records of one permutation, and noise is added once to their sum."
        " The seed of the sampler has to be secret, as the permutation is made of it.",
        "gaussian:sigma=1.1@60@batches:t=234",
        "that is the loop without set_epoch, which has the same permutation in every epoch.",
    ),
    Loop(
        "Opacus on several workers",
        (
            "loader = DataLoader(data, batch_size=256)           # on 4 workers",
            "engine.make_private(module=DPDDP(model), data_loader=loader, ...)",
        ),
        "gaussian:sigma=1.1@poisson:q=1/235@14100",
        "Each worker draws from its quarter of the data with probability 1 / len(loader), so that"
        " all together draw 256 on average, and one adds the noise.",
        "gaussian:sigma=1.1@poisson:q=4/235@14100",
        "batch_size is that of all workers together.",
    ),
    Loop(
        "Gradient accumulation in a plain loop",
        (
            "for i, batch in enumerate(loader):       # shuffle, drop_last",
            "    accumulate(clipped_gradients(batch))",
            "    if i % 2 == 1:",
            "        step(noise_multiplier=1.1)       # noise on the sum of two",
        ),
        "gaussian:sigma=1.1@batches:t=117,b=512@60",
        "A step is where noise is added: 234 / 2 steps an epoch, each of 2 x 256 records.",
        "gaussian:sigma=1.1@batches:t=234,b=256@60",
        "it counts batches that are published without noise of their own.",
        brief="`shuffle=True` as above, and noise after every second batch",
    ),
    Loop(
        "Gradient accumulation of Poisson samples",
        (
            "for i, batch in enumerate(loader):       # DPDataLoader, q = 1/235",
            "    accumulate(clipped_gradients(batch))",
            "    if i % 2 == 1:",
            "        step(noise_multiplier=1.1)",
        ),
        "gaussian-mixture:sigma=1.1,sensitivities=0,1,2,"
        "probabilities=54756/55225,468/55225,1/55225@7050",
        "Samples are independent, so that a record is in none, one or both of the two batches of a"
        " step: with probability (1 - q)^2, 2 q (1 - q) and q^2.",
        "gaussian:sigma=1.1@poisson:q=2/235@7050",
        "it leaves out that a record may count twice.",
    ),
    Loop(
        "Opacus with batches that do not fit into memory",
        (
            "with BatchMemoryManager(data_loader=loader, optimizer=optimizer,",
            "                        max_physical_batch_size=64) as loader: ...",
        ),
        "gaussian:sigma=1.1@poisson:q=1/235@14100",
        "It cuts a sample into pieces and adds noise once to all of them: nothing changes.",
        "gaussian:sigma=1.1@poisson:q=64/60000@56400",
        "pieces are no samples.",
    ),
    Loop(
        "A Poisson sampler of your own",
        (
            "for step in range(14063):                # 60 n / b, rounded up",
            "    batch = data[rng.random(n) < 256 / n]",
        ),
        "gaussian:sigma=1.1@poisson:q=256/60000@14063",
        "q = b / n, and the count is steps = epochs x n / b. What is divided by has to be b, and"
        " not the size of the sample, which is secret.",
        "gaussian:sigma=1.1@poisson:q=256/60000@60",
        "the count is of steps, not of epochs.",
        brief="`batch = data[rng.random(n) < 256 / n]` (Poisson samples)",
    ),
    Loop(
        "A batch of fixed size, drawn anew in every step",
        (
            "for step in range(14063):",
            "    batch = data[rng.choice(n, 256, replace=False)]",
        ),
        "gaussian:sigma=1.1,sensitivity=2@wor:n=60000,m=256@14063",
        "The size is public, so that neighbours have a record replaced (--relation replace-one);"
        " that moves a sum of gradients, each of norm 1 at most, by up to 2.",
        "gaussian:sigma=1.1@wor:n=60000,m=256@14063",
        "its sensitivity is 1: half of what a replaced record does to a clipped sum.",
        brief="`batch = data[rng.choice(n, 256, replace=False)]`, clipped sums",
    ),
    Loop(
        "tf.data",
        (
            "data = data.shuffle(60000).batch(256, drop_remainder=True)",
            "model.fit(data, epochs=60)               # DPKerasSGDOptimizer",
        ),
        "gaussian:sigma=1.1@batches:t=234,b=256@60",
        "A buffer that holds all records permutes them, and reshuffles in every epoch by itself."
        " compute_dp_sgd_privacy reports Poisson sampling; the optimizer samples nothing.",
        "gaussian:sigma=1.1@poisson:q=256/60000@14063",
        "nothing is drawn by coin tosses.",
        brief="`data.shuffle(60000).batch(256, drop_remainder=True)` (tf.data)",
    ),
    Loop(
        "tf.data with a buffer that is smaller than the data",
        ("data = data.shuffle(10000).batch(256)",),
        "gaussian:sigma=1.1@60",
        "A record that comes first leaves the buffer early: the order is no permutation, and"
        " nothing better than no sampling is proved.",
        "gaussian:sigma=1.1@batches:t=234,b=256@60",
        "it takes every order to be equally likely.",
    ),
    Loop(
        "TensorFlow Privacy with microbatches",
        (
            "DPKerasSGDOptimizer(l2_norm_clip=1.0, noise_multiplier=1.1,",
            "                    num_microbatches=64)   # of batches of 256",
        ),
        "gaussian:sigma=1.1,sensitivity=2@60",
        "The mean of four gradients is clipped, not each: one record may turn it round, from norm 1"
        " to norm 1. Sampling is not proved to help: a step is no longer a sum over records.",
        "gaussian:sigma=1.1@batches:t=234,b=256@60",
        "its sensitivity is that of one clipped gradient; leave num_microbatches out.",
    ),
    Loop(
        "JAX-Privacy, Poisson samples, padded or not",
        (
            "CyclicPoissonSampling(sampling_prob=256 / 60000,",
            "                      iterations=14063)",
            "pad_to_multiple_of(indices, 64)",
        ),
        "gaussian:sigma=1.1@poisson:q=256/60000@14063",
        "Padding adds records that are zero, and changes nothing.",
        "gaussian:sigma=1.1@wor:n=60000,m=256@14063",
        "a sample has 256 records on average only.",
    ),
    Loop(
        "JAX-Privacy, Poisson samples with a cap",
        (
            "CyclicPoissonSampling(sampling_prob=256 / 60000,",
            "                      iterations=14063, truncated_batch_size=320)",
        ),
        "gaussian:sigma=1.1@poisson:q=256/60000,max=320,n=60000@14063",
        "Of a sample that is larger 320 records are kept by chance. The cap costs little where it"
        " is four deviations above the mean: 256 + 4 x 16 = 320.",
        "gaussian:sigma=1.1@poisson:q=256/60000@14063",
        "where the cap binds, a record pushes another one out.",
        brief="`CyclicPoissonSampling(..., truncated_batch_size=320)` (JAX-Privacy)",
    ),
    Loop(
        "JAX-Privacy, an order that stays",
        (
            "CyclicPoissonSampling(sampling_prob=1, iterations=14040,",
            "                      cycle_length=234)",
        ),
        "gaussian:sigma=1.1@60@batches:t=234",
        "The records are permuted and split into 234 equal groups once; each is used in 60 cycles.",
        "gaussian:sigma=1.1@poisson:q=1/234@14040",
        "nothing is drawn after the first cycle.",
    ),
    Loop(
        "JAX-Privacy, balls in bins",
        ("BallsInBinsSampling(iterations=14040, cycle_length=234)",),
        "gaussian:sigma=1.1@60@allocation:t=234",
        "Each record draws its step by itself, once for all 60 cycles.",
        "gaussian:sigma=1.1@allocation:t=234@60",
        "that draws anew in every epoch, which costs a twentieth.",
    ),
    Loop(
        "JAX-Privacy, batches of fixed size",
        ("FixedBatchSampling(batch_size=256, iterations=14063)",),
        "gaussian:sigma=1.1,sensitivity=2@wor:n=60000,m=256@14063",
        "replace is False unless the call says otherwise. With replace=True a record may be in a"
        " batch several times; that is not accounted for, and has no specification.",
        "gaussian:sigma=1.1@poisson:q=256/60000@14063",
        "the size is fixed, and a record pushes another one out.",
    ),
    Loop(
        "Balls in bins, anew in every epoch",
        ("step = rng.integers(234, size=n)         # in every epoch",),
        "gaussian:sigma=1.1@allocation:t=234@60",
        "Each record draws one of the 234 steps by itself, so that others do not show where it is.",
        "gaussian:sigma=1.1@batches:t=234,b=256@60",
        "batches of a permutation have a fixed size, and others may tell more.",
        brief="`step = rng.integers(234, size=n)` in every epoch (balls in bins)",
    ),
    Loop(
        "Some steps out of many, drawn for each record",
        ("steps = rng.choice(234, 3, replace=False)   # of a record, 20 times",),
        "gaussian:sigma=1.1@allocation:t=234,k=3@20",
        "Each record draws 3 different steps out of 234, anew for each of 20 rounds.",
        "gaussian:sigma=1.1@allocation:t=234@60",
        "that draws one step out of 234, for each of 60 rounds.",
    ),
    Loop(
        "Reports of people, whose names are dropped",
        ("reports = rng.permutation([respond(p) for p in people])",),
        "rr:epsilon=1@shuffle:n=10000",
        "Each of n people sends one report that is private by itself, by randomized response with"
        " epsilon 1 here: the shuffle model.",
        "rr:epsilon=1@10000",
        "that is one person who answers 10000 times.",
        brief="`n` people report by randomized response, names are dropped",
    ),
)

TOPIC = "sampling"
_OPENING = """\
Which specification is my code? Here n = 60000 records are read in batches of
b = 256 for 60 epochs, with noise of 1.1 times the norm to which the gradient
of each record is clipped. Put your numbers in their places.

Steps of a pass: t = n / b. Steps in all: epochs x n / b. The count of @batches
and @allocation is that of epochs, the count of @poisson and @wor that of steps."""
_END = """\
Shuffled batches are no Poisson samples: with 1000 of them and sigma from 4 to
12 they cost at most twice as much, at sigma 1 nineteen times as much or more,
and below that about as much as no sampling.

Samples that are drawn with replacement are not accounted for. Where a person
has several records, write @group:k=3 at the end, and parentheses around a sum:
'(A+B)@group:k=3'; or clip what a person adds.
What is proved of each: man 7 privcalc-sampling."""


def page() -> str:
    """Return the table as `--help-spec sampling` prints it."""
    return "\n\n".join([_OPENING, *map(_shown, LOOPS), _END])


def of_wrapper(name: str) -> str:
    """Return the rows of one wrapper in short, or "": its name as the canonical text prints it."""
    rows = [
        f"  {loop.brief.replace('`', '')}\n      {loop.spec}"
        for loop in LOOPS
        if loop.brief and f"@{name}:" in loop.spec
    ]
    return "\n".join([*rows, f"  More: privcalc --help-spec {TOPIC}"]) if rows else ""


def _shown(loop: Loop) -> str:
    """Return one row: the code, the specification, why, and what the nearest other one misses."""
    text = f"{loop.why} Not {loop.other}: {loop.wrong}"
    # Specifications are never broken at a dash.
    said = wrap(text, _WIDTH - 2, break_on_hyphens=False, break_long_words=False)
    code = indent("\n".join(loop.code), "    ")
    return "\n".join([loop.title, code, f"  = {loop.spec}", indent("\n".join(said), "  ")])
