"""Run EPyMARL: ``python -m multigrid.integrations.epymarl CHECKOUT ...``."""

from multigrid.integrations.epymarl.launcher import main

if __name__ == "__main__":
    main()
