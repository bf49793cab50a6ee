"""Where certified answers fall short of what is wished for: a table that a manual page is made of.

A test asks every row, and fails where an answer is no longer what the row says: also where a gap
has closed, so that the page is brought up to date. Another one fails where a mechanism or wrapper
says that its ends may be apart, or that it has no lower end (`between` and `above` of its entry),
and has no row.
"""

from __future__ import annotations

from typing import Literal

from privcalc.record import record

Kind = Literal["apart", "above", "infinite", "refused"]


@record
class Gap:
    """One question whose answer is wide, one-sided, infinite or refused.

    Attributes:
        kind: which of these. An infinite upper end is one that is proved of nothing smaller.
        title: a few words.
        ask: the command without its name, as a shell reads it.
        printed: both ends to three digits, rounded outwards; the upper one alone; the lower one
            alone where the upper is infinite; or words of the message.
        why: what stands in the way, whole sentences.
        ideal: what is known of the truth, or what would be wished for, whole sentences.
        slow: whether an answer takes seconds.
    """

    kind: Kind
    title: str
    ask: str
    printed: tuple[str, ...]
    why: str
    ideal: str
    slow: bool = False

    @property
    def said(self) -> str:
        """What is printed, in words, without a full stop."""
        if self.kind == "refused":
            return f"Refused: {self.printed[0]}"
        if self.kind == "above":
            return f"The upper end is {self.printed[0]}, and the lower one unknown"
        if self.kind == "infinite":
            return f"The lower end is {self.printed[0]}, and the upper one infinite"
        return "The ends are {} and {}".format(*self.printed)


GAPS = (
    Gap(
        "apart",
        "Shuffled batches, little noise or several passes",
        "compose gaussian:sigma=1.1@batches:t=100@3 --delta 1e-6",
        ("5.50", "8.21"),
        "Above, one swap with the record of another batch is proved to hide something, and what the"
        " other records of a batch may add is capped; below, all of them pull the other way.",
        "The truth is somewhere between; privcalc-sampling(7) says from which noise on the ends are"
        " within a factor of two. Poisson samples and @allocation are known exactly.",
        slow=True,
    ),
    Gap(
        "apart",
        "Shuffled batches, a record replaced",
        "compose gaussian:sigma=4@batches:n=60000,b=256@10 --delta 1e-6 --relation replace-one",
        ("0.440", "8.31"),
        "The upper end is that of no sampling at all: the swap is proved for a record that is"
        " missing or not, and not for one with two values.",
        "An upper end as for a missing record, whose bracket is [0.228, 0.386] here.",
        slow=True,
    ),
    Gap(
        "apart",
        "Shuffled batches, steps that are stated by mu",
        "compose gdp:mu=0.5@batches:t=100 --delta 1e-6",
        ("0.718", "2.26"),
        "The upper end is that of no sampling: a step that is mu-GDP need not add noise to a sum of"
        " what its records say, which the swap rests on.",
        "Where the step is such a sum, write gaussian:sigma=1/mu.",
    ),
    Gap(
        "apart",
        "Shuffled batches, more noise than sigma 100 or less than 0.4",
        "compose gaussian:sigma=200@batches:t=100 --delta 1e-6",
        ("0.00125", "0.0160"),
        "The swap is computed for sigma from 0.4 to 100; elsewhere the upper end is that of no"
        " sampling.",
        "With so little noise shuffling hardly helps; with so much the cost is small either way.",
        slow=True,
    ),
    Gap(
        "apart",
        "Random allocation to several steps of an epoch",
        "compose gaussian:sigma=1.1@allocation:t=100,k=3 --delta 1e-6",
        ("1.60", "1.76"),
        "Above, k shorter epochs with one step each; below, what the sum of all outputs, or of"
        " their likelihood ratios, tells.",
        "The pair that dominates is known, a mixture over all choices of k steps, but not how to"
        " compute its profile. With k=1 both ends are all but the same.",
        slow=True,
    ),
    Gap(
        "apart",
        "Random allocation with little noise",
        "compose gaussian:sigma=0.3@allocation:t=1000 --delta 1e-6",
        ("13.8", "20.8"),
        "The lattice of the law of an epoch is made for sigma from 0.4 to 100; elsewhere the upper"
        " end is that of no sampling.",
        "The pair that dominates is known exactly, and is what the answer should be.",
    ),
    Gap(
        "apart",
        "Samples of fixed size, small ones with little noise",
        "compose gaussian:sigma=1@wor:n=60000,m=32@2000 --delta 1e-6",
        ("0.132", "0.156"),
        "Both ends are bounds of the value of one game: above by blocks of steps, on a lattice;"
        " below by strategies that exist.",
        "The value is the exact cost, and lies between. With sigma=2 and m=256 the ends are 0.1 %"
        " apart.",
        slow=True,
    ),
    Gap(
        "apart",
        "Samples of fixed size, tiny deltas at a large epsilon",
        "compose gaussian:sigma=1@wor:n=60000,m=256@1000 --epsilon 5",
        ("3.41e-23", "8.96e-23"),
        "The same bounds, which drift apart far out in the tail.",
        "The value of the game lies between; a factor in delta is little in epsilon.",
        slow=True,
    ),
    Gap(
        "apart",
        "Samples of fixed size, noise that is not Gaussian",
        "compose laplace:scale=2@wor:n=10000,m=1000@100 --delta 1e-6",
        ("2.14", "2.31"),
        "Above, a pair that dominates each step by itself, glued of removing and of adding; below,"
        " one of its halves in every step.",
        "The game as for Gaussian noise, for which the triples that suffice are not proved here.",
    ),
    Gap(
        "apart",
        "Poisson samples with a cap that binds",
        "compose gaussian:sigma=1.1@poisson:q=0.01,max=11,n=1000@30 --delta 1e-6",
        ("0.480", "4.15"),
        "Above, sampling with one record and with two that change, mixed as often as the cap does"
        " not bind, and binds; below, others add nothing, or all pull the other way.",
        "The truth is somewhere between; with a cap of four deviations above the mean the ends are"
        " all but the same.",
        slow=True,
    ),
    Gap(
        "apart",
        "Shuffled reports of two values",
        "compose rr:epsilon=1@shuffle:n=10000 --delta 1e-6",
        ("0.0356", "0.0433"),
        "Above, it is told who of the others answers truly (the privacy blanket); below, all others"
        " have the value of the one person.",
        "The truth is somewhere between. With three values or more both ends are all but the same.",
    ),
    Gap(
        "apart",
        "Shuffled reports that are known by epsilon only",
        "compose pure:epsilon=1@shuffle:n=10000 --delta 1e-6",
        ("0.0379", "0.0531"),
        "Above, clones of the one person that any such report has in it; below, randomized response"
        " of two or three values.",
        "The truth is somewhere between; where the report is randomized response, write rr.",
    ),
    Gap(
        "apart",
        "Report noisy max, several uses",
        "compose noisy-max:sigma=4,candidates=10@10 --delta 1e-6",
        ("7.26", "10.9"),
        "Above, an envelope of all scores that there may be, composed; below, one gap between the"
        " scores in every use but the last.",
        "In one use the ends are 5 % apart; what scores cost most in many uses is not known. With"
        " noise=exponential or gumbel both ends are all but the same.",
        slow=True,
    ),
    Gap(
        "apart",
        "Report noisy max, Laplace noise",
        "compose noisy-max:noise=laplace,scale=3,candidates=5@10 --delta 1e-6",
        ("5.80", "6.17"),
        "Above, two laws that rise as steeply as those of the largest noisy scores can; below, the"
        " best sets of equal scores that were tried.",
        "Two candidates are known exactly; that equal scores are the worst of more is not proved.",
    ),
    Gap(
        "apart",
        "Sparse vector, Laplace noise",
        "compose svt:threshold_noise=10,query_noise=20@3 --delta 1e-6",
        ("0.335", "0.600"),
        "Above, the pure guarantee of the proof by Dwork and Roth, or Laplace noise moved by what"
        " the queries add; below, streams of queries that exist, one of them in every use.",
        "One use is known to 2 %. Nothing is known to attain the upper end of many.",
    ),
    Gap(
        "apart",
        "Sparse vector, Gaussian noise",
        "compose svt:noise=gaussian,threshold_noise=10,query_noise=20,length=100 --delta 1e-6",
        ("0.535", "0.583"),
        "Above, a sum over all answers, of the worst stream for each; below, one stream.",
        "No stream is the worst for two answers, so that the truth is below the upper end.",
    ),
    Gap(
        "apart",
        "The exponential mechanism in samples",
        "compose exponential:epsilon=1@poisson:q=0.1@100 --delta 1e-6",
        ("2.49", "2.91"),
        "Above, one pair that dominates all scores there may be; below, one of these scores in"
        " every use.",
        "Without sampling both ends of epsilon and delta are all but the same: the best scores"
        " are found as uses go on. That is not done for samples.",
    ),
    Gap(
        "apart",
        "Posterior samples of a regression",
        "compose ops:gamma=1,lambda=200,n=10000 --delta 1e-6",
        ("0.313", "1.69"),
        "Above, features and responses are at their worst at once, and leverage and residual, too;"
        " below, one record next to none.",
        "On the data at hand the pair is known: --data-dependent.",
    ),
    Gap(
        "apart",
        "A statistic with noise of its smooth sensitivity",
        "compose gnss:sigma=15,delta=1e-5@10 --delta 1e-6",
        ("1.33", "1.45"),
        "Above, the Renyi curve of the worst change of the sensitivity; below, a statistic that"
        " exists.",
        "A pair of distributions that dominates all changes, of which none is known.",
    ),
    Gap(
        "apart",
        "Noisy screening in samples",
        "compose noisy-screening:sigma=85,threshold=210,votes=300@poisson:q=0.25@8192 --delta 1e-6",
        ("0.890", "0.961"),
        "Above, the worst count of votes for each order by itself; below, one count in every use.",
        "One use is known exactly. Which counts cost most in many uses is not known.",
    ),
    Gap(
        "apart",
        "Distance to instability, several uses",
        "compose stability:scale=2,threshold=40@10 --delta 1e-6",
        ("0", "5.00"),
        "Above, the larger of two costs at each epsilon, of which no two data sets have both;"
        " below, answers that are stable, or not, for sure, which tell nothing at this delta.",
        "One use is known exactly, at 0.500; of more a lower end of what is published or not is"
        " wanting.",
    ),
    Gap(
        "apart",
        "Partition selection, many uses",
        "compose partition-selection:epsilon=0.5,delta=1e-8@100 --delta 1e-6",
        ("32.9", "42.1"),
        "Above, the worst number of others who have the key, for each epsilon by itself; below, one"
        " number in every use.",
        "One use is known exactly, and few are all but so.",
        slow=True,
    ),
    Gap(
        "apart",
        "Thresholded counts in samples",
        "compose thresholded-counts:scale=2,threshold=60@poisson:q=0.01@10 --delta 1e-6",
        ("0.0106", "0.0133"),
        "Above, the larger of what old and new keys cost at each epsilon; below, either in every"
        " use.",
        "Without sampling both ends are all but the same.",
        slow=True,
    ),
    Gap(
        "apart",
        "Propose-test-release with a Laplace test",
        "compose 'ptr:test=(laplace:scale=8),mechanism=(gaussian:sigma=4),false_positive=1e-7'"
        " --delta 1e-6",
        ("1.06", "1.16"),
        "Above, a test that is wrong and a release that costs what it may; below, either of them on"
        " data that exist.",
        "With a Gaussian test the ends are half a percent apart.",
    ),
    Gap(
        "apart",
        "Two outputs, a record replaced",
        "compose bernoulli-pair:p=0.01,other_p=0.02@100 --delta 1e-6 --relation replace-one",
        ("6.61", "7.23"),
        "Above, one pair that dominates both orders, which may change from step to step; below, one"
        " order throughout.",
        "The best order in view of what came out before lies between.",
    ),
    Gap(
        "apart",
        "The best of several runs",
        "compose staircase:epsilon=1@select:runs=geometric,mean=10 --delta 1e-6",
        ("2.34", "2.58"),
        "Above, whatever decides which of the runs is the best; below, one order of the results"
        " that exists.",
        "For Gaussian runs both ends are all but the same.",
    ),
    Gap(
        "apart",
        "Groups of what is known by an envelope",
        "compose svt:threshold_noise=10,query_noise=20@group:k=2@10 --delta 1e-6",
        ("1.03", "4.00"),
        "Above, what a sensitivity of two records may do, or a chain of neighbours; below, a group"
        " that exists.",
        "As for one record: nothing is known to attain the upper end of many uses.",
    ),
    Gap(
        "apart",
        "Several steps of an epoch with little noise",
        "compose gaussian:sigma=0.5@allocation:t=100,k=3 --delta 1e-6",
        ("9.82", "11.7"),
        "Large losses need a large lattice, and three epochs are composed.",
        "No sampling, gaussian:sigma=0.5@3, bounds it.",
        slow=True,
    ),
    Gap(
        "apart",
        "Renyi divergences of samples of fixed size",
        "convert gaussian:sigma=2@wor:n=10000,m=100@10 --to rdp --orders 2",
        ("2.99e-4", "3.91e-4"),
        "The game is one of epsilon and delta; a Renyi curve has the glued pair above, and one of"
        " its halves below.",
        "The same game for divergences, which is not computed.",
    ),
    Gap(
        "apart",
        "Renyi divergences of shuffled batches",
        "convert gaussian:sigma=4@batches:t=100,b=100 --to rdp --orders 2",
        ("8.17e-4", "0.0626"),
        "The swap bounds profiles, and not divergences, whose upper end is that of no sampling.",
        "A bound of divergences by the same swap; epsilon and delta have better ends.",
        slow=True,
    ),
    Gap(
        "apart",
        "Gaussian differential privacy of report noisy max",
        "convert noisy-max:sigma=4,candidates=10 --to gdp",
        ("0.535", "0.791"),
        "Above, a bound for all scores there may be; below, the best of those that were tried.",
        "The largest mu of any scores lies between.",
    ),
    Gap(
        "apart",
        "Trade-off curves of screenings and noisy maxima",
        "convert noisy-screening:sigma=1.5,threshold=2.3,votes=5 --to tradeoff --fpr 0.1",
        ("0.734", "0.751"),
        "The lower end of beta is the convex hull of the curves of all data sets, which no attack"
        " on one of them comes up to; the upper one is that of the best pair that was tried.",
        "The upper end is the truth for one use of a screening. A lower one needs the least curve,"
        " and not its hull.",
    ),
    Gap(
        "above",
        "What is known by a bound on Renyi divergences",
        "compose zcdp:rho=0.5 --delta 1e-6",
        ("5.23",),
        "Such a bound says nothing of how much less a mechanism that keeps it costs.",
        "Where the mechanism is known, write it: Gaussian noise with that rho has both ends, at"
        " 4.89.",
    ),
    Gap(
        "above",
        "Points of a Renyi curve",
        "compose rdp:order=8,epsilon=1 --delta 1e-6",
        ("2.55",),
        "As above; and of other orders than those that are given nothing is assumed.",
        "Many orders instead of one, or the mechanism itself.",
    ),
    Gap(
        "above",
        "Samples of what is known by a Renyi curve",
        "compose gnss:sigma=15,delta=1e-5@poisson:q=0.1@10 --delta 1e-6",
        ("0.227",),
        "A curve is amplified from above only.",
        "A lower end of the statistic that exists, in a sample.",
    ),
    Gap(
        "above",
        "Samples of a posterior",
        "compose ops:gamma=1,lambda=200,n=10000@poisson:q=0.01 --delta 1e-6",
        ("0.0277",),
        "What is known of it is a bound, and a sample of that has no pair of its own.",
        "Data that exist, as a lower end.",
    ),
    Gap(
        "above",
        "Samples of a whole epoch",
        "compose gaussian:sigma=1.1@allocation:t=100@poisson:q=0.5 --delta 1e-6",
        ("0.324",),
        "The law of an epoch has two ends, and no sampled law of its own.",
        "Both ends, as for an epoch of all records.",
        slow=True,
    ),
    Gap(
        "above",
        "The best of several runs, with other releases",
        "compose gdp:mu=0.5@select:runs=geometric,mean=9+pure:epsilon=0.1 --delta 1e-6",
        ("3.26",),
        "The worst order of the results depends on epsilon, so that no one law is below.",
        "By itself it has both ends.",
        slow=True,
    ),
    Gap(
        "above",
        "Groups in samples of fixed size",
        "compose gaussian:sigma=2@wor:n=10000,m=100@10@group:k=2 --delta 1e-6",
        ("0.189",),
        "A chain of neighbours, one for each record of the group.",
        "Groups in Poisson samples have both ends.",
        slow=True,
    ),
    Gap(
        "above",
        "Groups of shuffled reports",
        "compose rr:epsilon=1@shuffle:n=1000@group:k=2 --delta 1e-6",
        ("0.312",),
        "A chain of neighbours, one for each person.",
        "A pair of data sets that differ in two people, as a lower end.",
    ),
    Gap(
        "above",
        "Groups with staircase noise",
        "compose staircase:epsilon=1@group:k=2 --delta 1e-6",
        ("2.00",),
        "The noise is that of a sensitivity; two records move the query by twice as much, along a"
        " chain.",
        "A law of shifts by up to twice the sensitivity.",
    ),
    Gap(
        "above",
        "Attacks where no data sets cost most at every epsilon",
        "convert thresholded-counts:scale=2,threshold=30 --to risk --fpr 0.1",
        ("0.222",),
        "New and old keys cost the more at different epsilons, and attacks need one pair for all.",
        "Epsilon at a delta has both ends: compose.",
    ),
    Gap(
        "infinite",
        "One mu for discrete Gaussian noise, at every delta",
        "convert discrete-gaussian:sigma=3@10 --to gdp",
        ("1.05",),
        "One mu has to hold far out in the tails, where nothing of the kind is proved for a sum.",
        "Whether a finite mu exists is open here; --delta 1e-6 asks for the one that holds there.",
    ),
    Gap(
        "infinite",
        "Posterior samples at tiny deltas",
        "compose ops:gamma=1,lambda=200,n=10000 --delta 1e-300",
        ("0.499",),
        "The proof of the upper end leaves out probability 1.28e-57.",
        "Nobody asks for such deltas; at 1e-50 there is an upper end.",
    ),
    Gap(
        "refused",
        "Random allocation, a record replaced",
        "compose gaussian:sigma=1.1@allocation:t=100 --delta 1e-6 --relation replace-one",
        ("no pair is known that dominates",),
        "Which pair of values of the record is the worst is not known.",
        "Likely they are as far apart as can be; nothing proves it.",
    ),
    Gap(
        "refused",
        "Gaussian mixtures, a record replaced",
        "compose gaussian-mixture:sigma=2,sensitivities=0,1,probabilities=0.8,0.2 --delta 1e-6"
        " --relation replace-one",
        ("two values of a record may move the output to different sides",),
        "What dominates is proved for moves to one side.",
        "Poisson samples have it for two sides; for mixtures no proof is written here.",
    ),
    Gap(
        "refused",
        "Posterior samples, a record replaced",
        "compose ops:gamma=1,lambda=200,n=10000 --delta 1e-6 --relation replace-one",
        ("it is proved for a record that is there or not",),
        "One record moves the posterior in one direction; two values have two.",
        "A removal and an addition, one after the other; that chain is not written here.",
    ),
    Gap(
        "refused",
        "Keys that are not known beforehand, a person replaced",
        "compose thresholded-counts:scale=2,threshold=60 --delta 1e-6 --relation replace-one",
        ("a person who is replaced takes keys away and brings others",),
        "Old keys lose a count while new ones show.",
        "A removal and an addition, one after the other; that chain is not written here.",
    ),
    Gap(
        "refused",
        "Samples of fixed size, a record zeroed out",
        "compose gaussian:sigma=1@wor:n=100,m=10 --delta 1e-6 --relation replace-special",
        ("wor is not defined under replace-special",),
        "A batch of a fixed size is read under replace-one, and sensitivities with it.",
        "Zeroing out is one way of replacing: replace-one, with the sensitivity of that, bounds"
        " it.",
    ),
    Gap(
        "refused",
        "Shuffled reports that are not randomized response or pure",
        "compose gaussian:sigma=4@shuffle:n=1000 --delta 1e-6",
        ("takes one report of each person",),
        "What others hide is written for these reports alone.",
        "Reports of approximate privacy have clones, too (Feldman, McMillan, Talwar 2021).",
    ),
    Gap(
        "refused",
        "Shuffled reports of more than a billion people",
        "compose rr:epsilon=1@shuffle:n=10_000_000_000 --delta 1e-6",
        ("n must be in [1, 1000000000]",),
        "The sums are made for so many.",
        "Fewer people hide less, so that n=1_000_000_000 bounds it.",
    ),
    Gap(
        "refused",
        "More than 100000 steps of an epoch",
        "compose gaussian:sigma=1@allocation:t=1_000_000 --delta 1e-6",
        ("t must be in [1, 100000]",),
        "The lattice of the law of an epoch is made for so many.",
        "Poisson samples have no such limit.",
    ),
    Gap(
        "refused",
        "Epochs of other noise",
        "compose laplace:scale=1@batches:t=100 --delta 1e-6",
        ("is known for gaussian and gdp only",),
        "The sum over places of the record is bounded for Gaussian noise alone.",
        "@poisson takes any noise.",
    ),
    Gap(
        "refused",
        "Capped samples of other noise",
        "compose laplace:scale=2@poisson:q=0.01,max=30,n=1000 --delta 1e-6",
        ("with max is known for gaussian and gdp only",),
        "Two records that change at once double the distance of Gaussian noise; for other noise"
        " nothing is written here.",
        "A cap of n never binds, and may be left out.",
    ),
    Gap(
        "refused",
        "Capped samples, a record replaced",
        "compose gaussian:sigma=1.1@poisson:q=0.01,max=30,n=1000 --delta 1e-6"
        " --relation replace-one",
        ("max of poisson is not defined under replace-one",),
        "The record may be in with either value, and push another one out.",
        "Under add-or-remove-one there are both ends.",
    ),
    Gap(
        "refused",
        "Groups in epochs",
        "compose gaussian:sigma=4@batches:t=100@group:k=2 --delta 1e-6",
        ("several records may meet in a step or not",),
        "No pair is known for records that may meet.",
        "Where they are drawn together, state the sensitivity of all of them.",
    ),
    Gap(
        "refused",
        "Groups of capped samples",
        "compose gaussian:sigma=1.1@poisson:q=0.01,max=30,n=1000@group:k=2 --delta 1e-6",
        ("how many of the group are kept depends on the others",),
        "The odds that a cap binds move with each record.",
        "A cap that is sure not to bind may be left out.",
    ),
    Gap(
        "refused",
        "Groups of what is known by points of a Renyi curve",
        "compose rdp:order=8,epsilon=1@group:k=2 --delta 1e-6",
        ("state the points for the group itself",),
        "Along a chain orders change, and points say nothing of other orders.",
        "A zcdp has all orders, and takes groups (with xi=0).",
    ),
    Gap(
        "refused",
        "Samples inside an epoch",
        "compose gaussian:sigma=1.1@poisson:q=0.01@allocation:t=100 --delta 1e-6",
        ("one step has to be Gaussian noise",),
        "A sampled step is a mixture, for which the places of an epoch are not summed.",
        "One of the two may be left out: what is asked then costs more.",
    ),
    Gap(
        "refused",
        "Poisson and fixed-size samples in one specification",
        "compose gaussian:sigma=2@poisson:q=0.01+gaussian:sigma=2@wor:q=0.01 --delta 1e-6",
        ("what they sample is read under different relations",),
        "A sensitivity would mean two things.",
        "Ask about the parts under one relation, and add epsilons and deltas.",
    ),
    Gap(
        "refused",
        "Disjoint data, a record replaced",
        "compose 'max(gaussian:sigma=1,laplace:scale=2)@10' --delta 1e-6 --relation replace-one",
        ("a record that is replaced may leave one part and enter another",),
        "Such a record pays in both parts.",
        "With + for max there is an upper bound.",
    ),
    Gap(
        "refused",
        "Groups before a sampling",
        "compose gaussian:sigma=1.1@group:k=2@poisson:q=0.5 --delta 1e-6",
        ("write it after the sampling, where it means records that are sampled one by one",),
        "A group that is drawn as one is a record, with the sensitivity of all of them.",
        "State that sensitivity, or write @group at the end.",
    ),
    Gap(
        "refused",
        "Samples with correlated noise of a tree",
        "compose matrix-gaussian:sigma=2,strategy=tree,steps=1024@poisson:q=0.01 --delta 1e-6",
        ("sampling of matrix-gaussian is known for banded strategies",),
        "What is proved of samples rests on noise that reaches over a band of steps.",
        "A law of all sampled steps together, for any strategy.",
    ),
    Gap(
        "refused",
        "Keys that are not known beforehand, in samples of fixed size",
        "compose thresholded-counts:scale=2,threshold=60@wor:q=0.01 --delta 1e-6",
        ("a person who is replaced takes keys away and brings others, which @wor asks for",),
        "A sample of fixed size is read under replace-one, which keys have no proof for.",
        "@poisson has both ends.",
    ),
    Gap(
        "refused",
        "A cap on a sample of a sample",
        "compose gaussian:sigma=2@poisson:q=0.1,max=20,n=100@poisson:q=0.1 --delta 1e-6",
        ("a cap on a sample of a sample is that of data sets of random size",),
        "How often the cap binds depends on the size of the outer sample.",
        "Without the outer sample there are both ends.",
    ),
)

# What no specification says.
MISSING = (
    "Samples that are drawn with replacement: a record may be in a batch several times.",
    "Shuffled batches in which all records after a missing one move up: each later batch changes.",
    "A data set that is permuted by a smaller buffer: not every order is equally likely.",
    "Noise whose size depends on the data, but for ops, gnss, and what ptr tests.",
    "What is saved where most teachers agree (gnmax): it depends on their votes.",
    "What the rounding of samplers reveals: but for discrete noise, outputs are real numbers.",
)
