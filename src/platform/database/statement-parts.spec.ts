import { Column, Entity, PrimaryColumn } from 'typeorm';
import { emptyColumns, insertParts, selectList } from './statement-parts.js';

@Entity('parcels')
class Parcel {
  @PrimaryColumn('uuid')
  id: string;

  @Column('integer')
  weightInGrams: number;
}

@Entity('letters')
class Letter {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text', { nullable: true })
  sentBy: string | null;
}

describe('entity columns', () => {
  it('are selected under the names of their properties', () => {
    expect(selectList(Parcel, 'p')).toBe('p.id AS "id", p.weight_in_grams AS "weightInGrams"');
    expect(selectList(Parcel, 'p', ['id'])).toBe('p.weight_in_grams AS "weightInGrams"');
  });

  it('are inserted in one order: names, placeholders, parameters', () => {
    const { columns, values, parametersOf, valueOf } = insertParts(Parcel);
    expect(columns).toBe('id, weight_in_grams');
    expect(values).toBe('$1, $2');
    expect(parametersOf({ weightInGrams: 5, id: 'a' })).toEqual(['a', 5]);
    expect(valueOf('weightInGrams')).toBe('$2');
  });

  it('that may be null begin as null, and no others', () => {
    expect(emptyColumns(Letter)).toEqual({ sentBy: null });
  });
});
