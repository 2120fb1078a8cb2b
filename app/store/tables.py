"""Every table in one place, for migrations to compare with. It holds none itself."""

from sqlalchemy import Table

from app.store.audit import AuditRow
from app.store.changes import ChangeRow
from app.store.clients_seen import ClientSeenRow
from app.store.decisions import DecisionRow, DecisionRuleRow
from app.store.modes import ModeSettingRow
from app.store.policy_layers import PolicyLayerRow
from app.store.revisions import PolicyRevisionRow

ALL: tuple[Table, ...] = tuple(
    row.__table__
    for row in (
        AuditRow,
        ChangeRow,
        ClientSeenRow,
        DecisionRow,
        DecisionRuleRow,
        ModeSettingRow,
        PolicyLayerRow,
        PolicyRevisionRow,
    )
)
