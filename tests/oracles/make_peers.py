"""Write peers.json: what dp-accounting and prv-accountant say; about a minute.

python tests/oracles/make_peers.py
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracles.peers import FILE, SPECS, Row, ask_dp_accounting, ask_prv

ABOUT = (
    "epsilon at delta under add-or-remove-one, by make_peers.py: dp-accounting's pessimistic "
    "estimate at its default settings; prv-accountant's lower end, estimate and upper end for the "
    "direction in which the record is removed"
)


def main() -> None:
    """Ask both libraries for every specification."""
    rows = []
    for spec in SPECS:
        theirs, interval = ask_dp_accounting(spec), ask_prv(spec)
        for delta in spec.deltas:
            row = Row(text=spec.text, delta=delta, dp_accounting=theirs[delta])
            if delta in interval:
                row["prv"] = interval[delta]
            rows.append(json.dumps(row))
        print(spec.text, flush=True)
    versions = {name: version(name) for name in ("dp-accounting", "prv-accountant")}
    head = f'{{"about": {json.dumps(ABOUT)},\n"versions": {json.dumps(versions)},\n"rows": [\n'
    FILE.write_text(head + ",\n".join(rows) + "\n]}\n")


if __name__ == "__main__":
    main()
