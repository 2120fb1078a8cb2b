import { NavLink } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Entry } from "./entry";

const TITLE = "Baton";
const nothing = () => 0;

/** One screen in the menu, with the number of what waits there; it stands in the page's title too. */
export function MenuLink({ entry, active, onClick }: { entry: Entry; active: boolean; onClick: () => void }) {
  const { to, label, Icon, useCount } = entry;
  const count = (useCount ?? nothing)();
  useEffect(() => {
    if (useCount) document.title = count > 0 ? `(${count}) ${TITLE}` : TITLE;
  }, [count, useCount]);
  return (
    <NavLink
      component={Link}
      to={to}
      label={label}
      leftSection={<Icon size={18} aria-hidden />}
      rightSection={
        count > 0 && (
          <span className="count">
            {count}
            <span className="visually-hidden"> waiting</span>
          </span>
        )
      }
      active={active}
      aria-current={active ? "page" : undefined}
      onClick={onClick}
    />
  );
}
