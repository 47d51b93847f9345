import { Link } from 'wouter-preact';

import { Icon } from '../../components/icon';

export function ListActions() {
  return (
    <Link href="/record" class="button is-primary">
      <Icon name="mic" />
      Record
    </Link>
  );
}
