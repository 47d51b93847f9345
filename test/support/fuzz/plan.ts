/** A request before it is sent: plain data, so that it can be made smaller and shown. */
export interface Plan {
  credentials: CredentialsKind;
  /** By the name of the path parameter. */
  ids: Record<string, PathId>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  body: JsonText | Form | null;
}

export type CredentialsKind = 'pair' | 'token' | 'none' | 'wrong secret' | 'all scopes but the one needed';

/** What stands in the place of a path parameter. */
export type PathId =
  /** A row of our own; `state` chooses among the states that it can be in. */
  | { kind: 'own'; state: number }
  /** A row of another account. */
  | { kind: 'foreign' }
  /** A row of our own, spelt as it is not. */
  | { kind: 'misspelt'; way: Misspelling }
  /** What names nothing, encoded for a URL. */
  | { kind: 'nonsense'; encoded: string };

export type Misspelling = keyof typeof MISSPELLINGS;

/** Postgres takes the most of these for the same id (D1). */
export const MISSPELLINGS = {
  'in upper case': (id: string) => id.toUpperCase(),
  'in braces': (id: string) => `%7B${id}%7D`,
  'without dashes': (id: string) => id.replaceAll('-', ''),
  'with a blank': (id: string) => `${id}%20`,
  'with a NUL': (id: string) => `${id}%00`,
  'as an URN': (id: string) => `urn:uuid:${id}`,
};

export interface JsonText {
  kind: 'json';
  text: string;
  /** Null: none is sent. */
  contentType: string | null;
}

export interface Form {
  kind: 'form';
  parts: FormPart[];
  /** False: the body breaks off before its closing boundary. */
  complete: boolean;
  contentType: 'form' | 'json' | 'without boundary';
}

export interface FormPart {
  name: string;
  /** A part with one is a file. */
  filename?: string;
  /** Of a file: the name of a sample; of a field: its text. */
  content: string;
}
