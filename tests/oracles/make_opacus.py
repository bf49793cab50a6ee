"""Makes `opacus.json`: the history of a short training run with Opacus, and its own epsilons.

Run in an environment of its own, which has torch and opacus and needs nothing of privcalc:

    pip install opacus && python tests/oracles/make_opacus.py > tests/oracles/opacus.json
"""

from __future__ import annotations

import json
import sys
import warnings

DELTAS = (1e-5, 1e-8)


def main() -> None:
    """Train for three epochs, the noise of the last one smaller, and print what is recorded."""
    import opacus  # type: ignore[import-not-found]
    import torch  # type: ignore[import-not-found]
    from opacus.accountants import PRVAccountant  # type: ignore[import-not-found]
    from opacus.schedulers import StepNoise  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    samples = torch.utils.data.TensorDataset(torch.randn(600, 4), torch.randint(0, 2, (600,)))
    model = torch.nn.Linear(4, 2)
    engine = opacus.PrivacyEngine(accountant="rdp")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(samples, batch_size=20),
        noise_multiplier=1.1,
        max_grad_norm=1.0,
    )
    schedule = StepNoise(optimizer, step_size=2, gamma=0.9)
    for _ in range(3):
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        schedule.step()
    accountant = engine.accountant
    other = PRVAccountant()
    other.history = accountant.history
    found = {
        "made_by": f"opacus {opacus.__version__}, torch {torch.__version__}",
        "state": {"history": accountant.history, "mechanism": accountant.mechanism()},
        "epsilon": [
            {
                "delta": delta,
                "rdp": float(accountant.get_epsilon(delta)),
                "prv": float(other.get_epsilon(delta)),
            }
            for delta in DELTAS
        ],
    }
    json.dump(found, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
