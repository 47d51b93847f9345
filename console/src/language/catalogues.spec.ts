import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { IntlMessageFormat } from 'intl-messageformat';
import ts from 'typescript';

import { GERMAN } from './german/catalogue';

type Ast = ReturnType<IntlMessageFormat['getAst']>;

/** The parser's `TYPE.literal`. */
const LITERAL = 0;
const CONSOLE = join(__dirname, '..');
const GERMAN_FILES = join(__dirname, 'german');

const literals = new Set(sourcesOf(CONSOLE).flatMap(literalsOf));
const texts = Object.entries(GERMAN);

describe('the texts of the console', () => {
  it('are each in one catalogue', () => {
    const parts = readdirSync(GERMAN_FILES).filter((file) => file !== 'catalogue.ts');
    const keys = parts.flatMap((file) =>
      Object.values(jest.requireActual<Record<string, object>>(join(GERMAN_FILES, file))).flatMap(Object.keys),
    );
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });

  it('are all used', () => expect(texts.map(([english]) => english).filter((key) => !literals.has(key))).toEqual([]));

  it('have the same values and elements in each language', () => {
    const different = texts.filter(([english, german]) => String(namesIn(english)) !== String(namesIn(german)));
    expect(different).toEqual([]);
  });
});

function sourcesOf(folder: string): ts.SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.spec.ts') && !name.startsWith('language'))
    .map((name) => ts.createSourceFile(name, readFileSync(join(folder, name), 'utf8'), ts.ScriptTarget.Latest, true));
}

function nodesOf(node: ts.Node): ts.Node[] {
  const below: ts.Node[] = [];
  node.forEachChild((child) => void below.push(...nodesOf(child)));
  return [node, ...below];
}

/** Attributes have theirs without escapes. */
function literalsOf(source: ts.SourceFile): string[] {
  return nodesOf(source).flatMap((node) => (ts.isStringLiteralLike(node) ? [node.text] : propertiesOf(node)));
}

/** The keys of constants that are texts: `t(role)`. */
function propertiesOf(node: ts.Node): string[] {
  return ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) ? [node.name.text] : [];
}

function namesIn(message: string): string[] {
  const names = (ast: Ast): string[] =>
    ast.flatMap((element) => {
      const options = 'options' in element ? Object.values(element.options).flatMap(({ value }) => names(value)) : [];
      const children = 'children' in element ? names(element.children) : [];
      const own = 'value' in element && (element.type as number) !== LITERAL ? [element.value] : [];
      return [...own, ...options, ...children];
    });
  return [...new Set(names(new IntlMessageFormat(message, 'en').getAst()))].toSorted((a, b) => a.localeCompare(b));
}
