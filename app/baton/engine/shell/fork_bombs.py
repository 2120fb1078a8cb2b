"""Functions that start themselves without end. It knows calls only, not what else a function does."""


class Calls:
    """Who calls whom, of calls that nothing makes conditional; a call forks in a pipeline, `&` or subshell."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, bool]] = {}

    def add(self, caller: str, called: str, *, forks: bool) -> None:
        """Note a call."""
        below = self.calls.setdefault(caller, {})
        below[called] = below.get(called, False) or forks

    def endless(self) -> bool:
        """Tell whether a function reaches itself by calls of which one forks."""
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
