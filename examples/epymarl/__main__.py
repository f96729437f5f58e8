"""Run EPyMARL: ``python -m examples.epymarl CHECKOUT ...``."""

from examples.epymarl.launcher import main

if __name__ == "__main__":
    main()
