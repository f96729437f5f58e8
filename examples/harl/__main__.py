"""Train with HARL: ``python -m examples.harl CHECKOUT ...``."""

from examples.harl.launcher import main

if __name__ == "__main__":
    main()
