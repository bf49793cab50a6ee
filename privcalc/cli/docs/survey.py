"""What kind of answer each mechanism has by itself and under each wrapper, for a manual page.

A test asks every cell. Marks: `=` both ends agree, `<` they are apart, `^` there is an upper end
only, `-` the question is refused. What is apart, one-sided or refused is explained in `gaps`.
"""

from __future__ import annotations

from privcalc.record import record

# Ends that differ by less, relative, agree.
AGREE = 0.015


@record
class Column:
    """What is done to each mechanism in one column of the survey.

    Attributes:
        heading: at most four characters.
        tail: what is written behind the mechanism.
        repeats: whether it is 10 uses of the column before.
    """

    heading: str
    tail: str
    repeats: bool = False


COLUMNS = (
    Column("one", ""),
    Column("x10", "@10", repeats=True),
    Column("poi", "@poisson:q=0.01"),
    Column("x10", "@poisson:q=0.01@10", repeats=True),
    Column("wor", "@wor:n=10000,m=100"),
    Column("x10", "@wor:n=10000,m=100@10", repeats=True),
    Column("all", "@allocation:t=100"),
    Column("bat", "@batches:t=100"),
    Column("shu", "@shuffle:n=1000"),
    Column("gro", "@group:k=2"),
    Column("sel", "@select:runs=geometric,mean=10"),
)

SURVEY = (
    ("gaussian:sigma=1.1", "=======<-=="),
    ("laplace:scale=2", "=====<---=<"),
    ("truncated-laplace:scale=2,bound=40", "=====<---=<"),
    ("discrete-gaussian:sigma=7.5", "======---=="),
    ("discrete-laplace:scale=2", "=====<---=<"),
    ("staircase:epsilon=1", "=====<---^<"),
    ("matrix-gaussian:sigma=2,strategy=banded,steps=100,bands=10", "====<<---=="),
    ("rr:epsilon=1", "=====<--<=<"),
    ("exponential:epsilon=0.1", "===<=<---=<"),
    ("noisy-max:sigma=4,candidates=10", "<<<<<<---<<"),
    ("ops:gamma=1,lambda=200,n=10000", "<<^^-----^<"),
    ("noisy-screening:sigma=85,threshold=210,votes=300", "=<=<=<---=<"),
    ("gnmax:sigma=40", "=======<-=="),
    ("gnss:sigma=15,delta=1e-5", "<<^^^^----^"),
    ("thresholded-counts:scale=2,threshold=60", "===<-----=^"),
    ("partition-selection:epsilon=0.5,delta=1e-8", "===<-----=^"),
    ("svt:threshold_noise=10,query_noise=20", "<<<<<<---=<"),
    ("ptr:test=(gaussian:sigma=8),mechanism=(gaussian:sigma=4),false_positive=1e-9", "=====<---=^"),
    ("stability:scale=2,threshold=40", "=<=<=<---=^"),
    ("pure:epsilon=1", "=====<--<=<"),
    ("approx:epsilon=1,delta=1e-9", "=====<---=<"),
    ("gdp:mu=0.5", "=====<=<-=="),
    ("zcdp:rho=0.1", "^^^^^^---^^"),
    ("rdp:order=8,epsilon=1", "^^^^^^----^"),
    ("gaussian-mixture:sigma=2,sensitivities=0,1,probabilities=0.8,0.2", "====-----=="),
    ("gaussian-pair:mean=0,deviation=1.1,other_mean=1,other_deviation=1", "====-----^="),
    ("bernoulli-pair:p=0.01,other_p=0.02", "======---=<"),
)
