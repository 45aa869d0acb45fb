"""`python -m skillwalker`, for where no directory of scripts is on the PATH."""

from skillwalker.cli.main import main

if __name__ == "__main__":
    main()
