"""Addresses that open something: what is secret in them is not written into a log.

Named by LOGGING. A link that is refused now (paused, or for another person) may open later.
"""

import logging
import re

SECRET_PATH = re.compile(r"/(login|join|s)/(?!code/)[^/\s]{10,}")


def without_secrets(text: str) -> str:
    return SECRET_PATH.sub(r"/\1/…", text)


class WithoutSecrets(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                without_secrets(each) if isinstance(each, str) else each for each in record.args
            )
        return True
