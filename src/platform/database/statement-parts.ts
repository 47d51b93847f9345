import { getMetadataArgsStorage } from 'typeorm';

type EntityClass<Entity> = new () => Entity;

/**
 * The select list that returns every column of an entity under its property's name, so that a row is the object. For
 * SQL that TypeORM cannot say; a new column of the entity is in it without a change here.
 * @param without properties that are left out.
 */
export function selectList<Entity>(
  entity: EntityClass<Entity>,
  alias: string,
  without: readonly (keyof Entity & string)[] = [],
): string {
  return propertiesOf(entity)
    .filter((property) => !without.some((omitted) => omitted === property))
    .map((property) => `${alias}.${snakeCase(property)} AS "${property}"`)
    .join(', ');
}

type NullableKeys<Entity> = { [Key in keyof Entity]-?: null extends Entity[Key] ? Key : never }[keyof Entity];

/** Every nullable column with the value null: the start of a new row. */
export function emptyColumns<Entity>(entity: EntityClass<Entity>): Record<NullableKeys<Entity>, null> {
  const nullable = getMetadataArgsStorage()
    .filterColumns(entity)
    .filter(({ options }) => options.nullable);
  const columns = nullable.map(({ propertyName }) => [propertyName, null]);
  return Object.fromEntries(columns) as Record<NullableKeys<Entity>, null>;
}

export interface InsertParts<Entity> {
  columns: string;
  /** `$1` and on, in the order of `columns`. */
  values: string;
  parametersOf: (row: Entity) => unknown[];
  /** The placeholder of one column. */
  valueOf: (property: keyof Entity & string) => string;
}

/** What is inserted in place of the value of a property, made of its placeholder and those of others. */
export type InsertExpressions<Entity> = Partial<
  Record<keyof Entity, (valueOf: InsertParts<Entity>['valueOf']) => string>
>;

/** What the INSERT of one whole row is made of. */
export function insertParts<Entity>(
  entity: EntityClass<Entity>,
  expressions: InsertExpressions<Entity> = {},
): InsertParts<Entity> {
  const properties = propertiesOf(entity) as (keyof Entity & string)[];
  const valueOf = (property: keyof Entity & string): string => `$${properties.indexOf(property) + 1}`;
  return {
    columns: properties.map(snakeCase).join(', '),
    values: properties.map((property) => expressions[property]?.(valueOf) ?? valueOf(property)).join(', '),
    parametersOf: (row) => properties.map((property) => row[property]),
    valueOf,
  };
}

function propertiesOf(entity: EntityClass<unknown>): string[] {
  return getMetadataArgsStorage()
    .filterColumns(entity)
    .map(({ propertyName }) => propertyName);
}

/** `createdAt` → `created_at`: how columns are named after properties. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Conditions on a time: from the start of a day in UTC, or until its end. @param day placeholder of the date. */
export const fromDay = (column: string, day: string): string =>
  `${column} >= ${day}::date::timestamp AT TIME ZONE 'UTC'`;
export const untilDay = (column: string, day: string): string =>
  `${column} < (${day}::date + 1)::timestamp AT TIME ZONE 'UTC'`;

/** Conditions on a time: from an instant, or before it. @param instant placeholder */
export const fromInstant = (column: string, instant: string): string => `${column} >= ${instant}::timestamptz`;
export const beforeInstant = (column: string, instant: string): string => `${column} < ${instant}::timestamptz`;

/** @param rows each with the total. An empty page has one row, whose other columns are null. */
export function toPage<Item extends { id: string }>(
  rows: readonly (Item & { total: number })[],
): { items: Item[]; total: number } {
  return { items: rows.filter(({ id }) => id !== null), total: rows[0]?.total ?? 0 };
}
