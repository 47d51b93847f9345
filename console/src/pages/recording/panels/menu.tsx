import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

import { Icon, type IconName } from '../../../components/icon';
import './menu.css';

interface MenuProps {
  label: string;
  icon: IconName;
  iconOnly?: boolean;
  children: ComponentChildren;
}

/** Buttons behind a button. It closes when one is pressed, by Escape, and when the focus goes. */
export function Menu({ label, icon, iconOnly = false, children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (menu.current) menu.current.open = false;
  };
  /** What a dialog that an item opens gives the focus back to. */
  const leave = () => {
    menu.current?.querySelector('summary')?.focus();
    close();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !menu.current?.open) return;
    event.stopPropagation();
    leave();
  };
  const lose = ({ relatedTarget }: FocusEvent) => {
    if (!(relatedTarget instanceof Node) || !menu.current?.contains(relatedTarget)) close();
  };
  return (
    <details class="menu" ref={menu} onKeyDown={press} onFocusOut={lose}>
      <summary class={iconOnly ? 'button is-icon' : 'button'} aria-label={iconOnly ? label : undefined}>
        <Icon name={icon} />
        {!iconOnly && <span>{label}</span>}
      </summary>
      <div class="menu-items" tabIndex={-1} onClick={leave}>
        {children}
      </div>
    </details>
  );
}

interface MenuItemProps {
  icon: IconName;
  children: ComponentChildren;
  isDanger?: boolean;
  onClick: () => void;
}

export function MenuItem({ icon, children, isDanger = false, onClick }: MenuItemProps) {
  return (
    <button type="button" class={isDanger ? 'menu-item is-danger' : 'menu-item'} onClick={onClick}>
      <Icon name={icon} />
      <span>{children}</span>
    </button>
  );
}
