"""Train with HARL: ``python -m multigrid.integrations.harl CHECKOUT ...``."""

from multigrid.integrations.harl.launcher import main

if __name__ == "__main__":
    main()
