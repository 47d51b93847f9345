import { Icon } from '../../components/icon';
import { t, type Text } from '../../language/texts';
import type { ListQuery, Order } from './list-query';

interface ListOrderProps {
  query: ListQuery;
  onChange: (fields: Partial<ListQuery>) => void;
}

/** Two orders, of which the first comes first when the column is chosen. */
interface Column {
  title: Text;
  orders: readonly [Order, Order];
}

const COLUMNS: readonly Column[] = [
  { title: 'Length', orders: ['longest', 'shortest'] },
  { title: 'Date', orders: ['newest', 'oldest'] },
];

const NAMES: Record<Order, Text> = {
  newest: 'Newest first',
  oldest: 'Oldest first',
  longest: 'Longest first',
  shortest: 'Shortest first',
  rank: 'Best match first',
};

/** Headers over the columns that can be sorted; a choice where the rows have no columns. */
export function ListOrder({ query, onChange }: ListOrderProps) {
  const { order, q } = query;
  const orders = (Object.keys(NAMES) as Order[]).filter((name) => name !== 'rank' || q !== '');
  return (
    <>
      <div class="order-columns" role="group" aria-label={t('Order')}>
        {q !== '' && (
          <button
            type="button"
            class="order-column"
            aria-pressed={order === 'rank'}
            onClick={() => onChange({ order: 'rank' })}
          >
            {t('Best match')}
          </button>
        )}
        {COLUMNS.map((column) => (
          <ColumnOrder key={column.title} column={column} order={order} onChange={onChange} />
        ))}
      </div>
      <select
        class="input order-select"
        aria-label={t('Sort by')}
        value={order}
        onChange={(event) => onChange({ order: event.currentTarget.value as Order })}
      >
        {orders.map((name) => (
          <option key={name} value={name}>
            {t(NAMES[name])}
          </option>
        ))}
      </select>
    </>
  );
}

interface ColumnOrderProps {
  column: Column;
  order: Order;
  onChange: ListOrderProps['onChange'];
}

function ColumnOrder({ column: { title, orders }, order, onChange }: ColumnOrderProps) {
  const [first, second] = orders;
  const isSorted = orders.includes(order);
  return (
    <button
      type="button"
      class="order-column"
      aria-pressed={isSorted}
      title={t(NAMES[isSorted ? order : first])}
      onClick={() => onChange({ order: order === first ? second : first })}
    >
      {t(title)}
      {isSorted && (
        <>
          <span class="visually-hidden">{t(NAMES[order])}</span>
          <Icon name={order === first ? 'chevron-down' : 'chevron-up'} size={16} />
        </>
      )}
    </button>
  );
}
