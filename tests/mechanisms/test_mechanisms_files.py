"""The mechanism `pmf`, and the files of numbers that mechanisms read."""

from __future__ import annotations

import math
import os
import socket
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from privcalc import opened
from privcalc.errors import DomainError
from privcalc.losses import profiles
from privcalc.losses.atoms import AtomicLaw
from privcalc.losses.law import Term
from privcalc.losses.profiles import MOST_ATOMS
from privcalc.mechanisms import files
from privcalc.mechanisms.files import exact, numbers, read_rows
from privcalc.relation import Adjacency
from tests.pairs import atoms_of, atoms_profile, bracket, built

ADD, REMOVE, REPLACE = Adjacency.ADD, Adjacency.REMOVE, Adjacency.REPLACE
NAMES = ("first", "other")


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File names are relative to the current directory."""
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "x.txt") -> str:
    """Write a file into the current directory and return its name."""
    Path(name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize(
    "text",
    [
        "first,other\n0.25,0.75\n0.75,0.25\n",
        "# two outputs\n\n0.25 0.75 # yes\n 3/4\t1/4\n",
        "0.25; 0.75\n.75; 2.5E-1",
        '"first" "other"\n0.25 0.75\n0.75 0.25',
        "\ufeffFIRST OTHER\r\n0.25 0.75\r\n0.75 0.25\r\n",
        '{"first": [0.25, "3/4"], "other": [0.75, 0.25]}',
        "[[0.25, 0.75], [75e-2, 0.25]]",
    ],
)
def test_all_the_ways_to_write_a_table(text: str) -> None:
    """Text and JSON, with and without header, comments and ratios, read to the same law."""
    law = atoms_of(f"pmf:file=./{write(text)}", ADD)
    assert law == atoms_of("bernoulli-pair:p=0.25,other_p=0.75", ADD)


@pytest.mark.dear("text18-line 1: expected two numbers]")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.txt has no numbers; expected two columns: first other"),
        ("0.5 0.5\n0.5\n", r"x.txt, line 2: expected two numbers \(first, other\), got 0.5"),
        ("0.5,,0.5\n", r"line 1: expected two numbers"),
        ("other first\n0.5 0.5", "line 1: expected a number such as .*, got other"),
        ("0.5 1/0\n", "got 1/0"),
        ("0.5 1e999\n", "got 1e999"),
        ("0.5 1_0\n", "got 1_0"),
        ("1.5 1\n-0.5 0\n", "line 2: probabilities must be >= 0, got -0.5"),
        ("0.5 1\n0.4 0\n", 'the column "first" must sum to 1 within 1e-9, got 0.9'),
        ("1 1e-301\n0 1\n", "x.txt: probabilities must be 0 or at least 1e-300"),
        ("{", "x.txt, line 1: not JSON"),
        ("[[0.5, true]]", r"entry 1: expected two numbers .*, got 0.5 True"),
        ("[[0.5, [1]]]", "entry 1: expected two numbers"),
        ('{"first": [1]}', 'expected the fields "first" and "other"'),
        ('{"first": [1, 0], "other": [1]}', "each a list of as many numbers as the other"),
        ('{"first": [1], "first": [1], "other": [1]}', "a field is given twice"),
        ("[" * 100_000, "not JSON"),
        ("1 0\n" * (MOST_ATOMS + 1), "too many rows; at most 10000 are supported; outputs whose"),
        ("0.5 0.5 " + "1 " * 1_000_000, "line 1: expected two numbers"),
        (
            "".join(f"1/{10**9 + k} 0\n" for k in range(2_000)),
            "ratios with so many different denominators are not supported; write decimals",
        ),
    ],
)
def test_malformed_files_are_named_with_their_line(text: str, message: str) -> None:
    """The error has the file, the place and what was expected."""
    write(text)
    with pytest.raises(DomainError, match=message) as caught:
        built("pmf:file=./x.txt").laws(ADD)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_too_many_lines_for_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many lines as are allowed are read, with their places, and not one more."""
    monkeypatch.setattr(files, "MAX_ROWS", 2)
    name = write("1 2\n\n1/3\n")
    assert list(numbers(name)) == [
        (f"{name}, line 1", [Fraction(1), Fraction(2)]),
        (f"{name}, line 3", [Fraction(1, 3)]),
    ]
    with pytest.raises(DomainError, match=r"x\.txt has too many rows; at most 2 are supported"):
        list(numbers(write("1\n2\n3\n")))


def test_unreadable_files() -> None:
    """A missing file, a directory and bytes that are no text are named."""
    with pytest.raises(DomainError, match=r"^\./no\.csv cannot be read \(No such file"):
        built("pmf:file=./no.csv")
    with pytest.raises(DomainError, match="cannot be read"):
        built("profile:file=./")
    Path("bytes.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DomainError, match="not a text file"):
        built("profile:file=./bytes.bin")
    with pytest.raises(DomainError, match="it is the name of no file"):
        read_rows("a\0b", NAMES)


def test_only_regular_files_are_read() -> None:
    """What has no end, or waits for a writer, is refused by its kind, and at once."""
    os.mkfifo("pipe.csv")
    with socket.socket(socket.AF_UNIX) as here:
        here.bind("socket.csv")
        for name, kind in (
            ("/dev/zero", "it is no regular file"),
            ("/dev/null", "it is no regular file"),
            ("./", "it is no regular file"),
            ("./pipe.csv", "it is no regular file"),
        ):
            for mechanism in ("profile", "pmf", "rdp"):
                with pytest.raises(DomainError, match=f"^{name} cannot be read: {kind}"):
                    built(f"{mechanism}:file={name}")
        with pytest.raises(DomainError, match="cannot be read"):
            built("profile:file=./socket.csv")


def test_bytes_are_counted_before_they_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large, or grows while it is read, is refused before it is decoded."""
    Path("large.bin").write_bytes(b"\xff")
    with Path("large.bin").open("r+b") as file:
        file.truncate(opened.MAX_BYTES + 1)
    with pytest.raises(DomainError, match="has more than 20000000 bytes"):
        read_rows("./large.bin", NAMES)
    monkeypatch.setattr(opened, "MAX_BYTES", 100)
    write("0.5 0.5\n" * 2, "small.txt")
    assert len(read_rows("./small.txt", NAMES)) == 2
    # It says that it is empty, and is not.
    with pytest.raises(DomainError, match="/proc/self/limits has more than 100 bytes"):
        read_rows("/proc/self/limits", NAMES)


@settings(max_examples=60, deadline=None)
@given(st.integers(-(10**12), 10**12), st.integers(0, 40), st.integers(-30, 30))
def test_numbers_are_read_exactly(digits: int, places: int, exponent: int) -> None:
    """A decimal is the rational number that it writes."""
    word = str(abs(digits)).zfill(places + 1)
    word = f"{'-' * (digits < 0)}{word[: len(word) - places]}.{word[len(word) - places :]}"
    true = Fraction(digits, 10**places) * Fraction(10) ** exponent
    assert exact("here", f"{word}e{exponent}") == true
    assert exact("here", f"{digits}/7") == Fraction(digits, 7)


def test_unequal_supports_and_merging() -> None:
    """Zeros in one column are infinite losses; equal ratios, exactly equal only, are merged."""
    name = write("0.1 0\n0.3 0.2\n0.15 0.1\n0.45 0.3\n0 0.4\n0 0\n")
    law = atoms_of(f"pmf:file=./{name}", ADD)
    assert law == AtomicLaw(
        (math.log1p(0.5),), (0.9,), 0.1, 0.4, 160.0, (0.6,), 2.0**-53, known_mass=Fraction(1, 10)
    )
    back = atoms_of(f"pmf:file=./{name}", REMOVE)
    assert (back.infinity_mass, back.lower_infinity_mass) == (0.4, 0.1)
    assert bracket(f"pmf:file=./{name}", delta=0.3)[1] == math.inf
    assert bracket(f"pmf:file=./{name}", delta=0.45)[1] < 1.0
    apart = atoms_of(f"pmf:file=./{write('1 0' + chr(10) + '0 1')}", ADD)
    assert (apart.losses, apart.infinity_mass, apart.lower_infinity_mass) == ((), 1.0, 1.0)


def test_a_rounded_sum_is_divided_out() -> None:
    """Columns that sum to 1 within 1e-9 are normalised exactly, and further off is refused."""
    law = atoms_of(f"pmf:file=./{write('0.3333333333 0.5' + chr(10) + '0.6666666666 0.5')}", ADD)
    true = [mpf(1) / 3 / mpf("0.5"), mpf(2) / 3 / mpf("0.5")]
    for loss, ratio in zip(law.losses, true, strict=True):
        assert abs(loss - mp.log(ratio)) < 1e-15
    with pytest.raises(DomainError, match=r"must sum to 1 within 1e-9, got 0\.99999"):
        built(f"pmf:file=./{write('0.33333333 1' + chr(10) + '0.66666666 0')}")


def _binomial_rows(n: int, shift: int) -> str:
    rows = [
        f"{math.comb(n, k)}/{2**n} {math.comb(n, k - shift) if k >= shift else 0}/{2**n}"
        for k in range(n + shift + 1)
    ]
    return "\n".join(rows)


@pytest.mark.slow
def test_long_ratios_and_probabilities_beyond_doubles() -> None:
    """A table of binomial masses down to 2^-1500, as ratios of 450 digits, is that mechanism."""
    Path("x.txt").write_text(_binomial_rows(1500, 3), encoding="utf-8")
    low, high = bracket("pmf:file=x.txt", delta=1e-6)
    truth = bracket("binomial:n=1500,sensitivity=3", delta=1e-6)
    assert low <= truth[1]
    assert truth[0] <= high
    assert high - low <= 1e-8 * high


@pytest.mark.parametrize("adjacency", [ADD, REMOVE, REPLACE])
def test_unlikely_outputs_are_bounded_on_both_sides(
    adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a larger least probability the laws stand above and below the table's own."""
    Path("x.txt").write_text(_binomial_rows(12, 2), encoding="utf-8")
    mechanism = built("pmf:file=x.txt")
    exact_law = Term.of(mechanism.laws(adjacency)).above
    monkeypatch.setattr(profiles, "SMALLEST_MASS", Fraction(1, 100))
    found = mechanism.laws(adjacency)
    above, below = found.above, found.lower
    assert above.infinity_mass > exact_law.infinity_mass
    for a in (0.5, 1.0, 1.3, 3.0, 20.0, 400.0):
        truth = atoms_profile(exact_law, a)
        assert atoms_profile(below, a) <= truth * (1 + 1e-12)
        assert truth * (1 - 1e-12) <= atoms_profile(above, a)
