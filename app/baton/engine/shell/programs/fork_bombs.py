"""Find functions that start themselves without end, by who calls whom."""


class Calls:
    """The unconditional calls between functions. A call forks in a pipeline, after `&` or in a subshell."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, bool]] = {}

    def add(self, caller: str, called: str, *, forks: bool) -> None:
        """Note a call."""
        below = self.calls.setdefault(caller, {})
        below[called] = below.get(called, False) or forks

    def endless(self) -> bool:
        """Return whether a function calls itself, directly or through others, with a fork on the way."""
        return any(self._returns(caller) for caller in list(self.calls)[:100])

    def _returns(self, start: str) -> bool:
        seen: set[tuple[str, bool]] = set()
        todo = [(start, False)]
        while todo:
            here, forked = todo.pop()
            for called, forks in self.calls.get(here, {}).items():
                state = (called, forked or forks)
                if called == start and state[1]:
                    return True
                if called in self.calls and state not in seen:
                    seen.add(state)
                    todo.append(state)
        return False
