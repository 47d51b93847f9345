import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { IntlMessageFormat } from 'intl-messageformat';
import ts from 'typescript';

import { GERMAN } from './german/catalogue';

type Ast = ReturnType<IntlMessageFormat['getAst']>;

/** Names and examples, which are the same in each language. */
const NAMES = new Set(['Voice notes', 'Ctrl K', 'user-42', 'https://example.com/voice-notes']);
/** The parser's `TYPE.literal`. */
const LITERAL = 0;
/** Properties of elements and components that a person reads or hears. */
const READ = new Set([
  'action',
  'alt',
  'aria-description',
  'aria-label',
  'aria-roledescription',
  'aria-valuetext',
  'busyLabel',
  'cancelLabel',
  'hint',
  'label',
  'placeholder',
  'title',
  'unset',
]);

const CONSOLE = join(__dirname, '..');
const GERMAN_FILES = join(__dirname, 'german');

const sources = sourcesOf(CONSOLE);
const literals = new Set(sources.flatMap(literalsOf));
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

  it('are not written into elements past the catalogues', () => {
    const found = sources.flatMap((source) =>
      nodesOf(source)
        .flatMap(wordsIn)
        .filter((node) => /\p{L}{2}/u.test(textOf(node)) && !(textOf(node) in GERMAN) && !NAMES.has(textOf(node)))
        .map((node) => `${source.fileName}: ${textOf(node)}`),
    );
    expect(found).toEqual([]);
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

/** Between tags, and in what is read of an element. */
function wordsIn(node: ts.Node): ts.Node[] {
  if (ts.isJsxText(node)) return [node];
  if (ts.isJsxAttribute(node)) return READ.has(node.name.getText()) ? valuesOf(node.initializer) : [];
  return ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent) ? valuesOf(node) : [];
}

/** What an expression may be, without what functions return. */
function valuesOf(node: ts.Node | undefined): ts.Node[] {
  if (!node) return [];
  if (ts.isJsxExpression(node) || ts.isParenthesizedExpression(node)) return valuesOf(node.expression);
  if (ts.isConditionalExpression(node)) return [...valuesOf(node.whenTrue), ...valuesOf(node.whenFalse)];
  if (ts.isBinaryExpression(node)) return partsOf(node).flatMap(valuesOf);
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) ? [node] : [];
}

/** Which sides of `a && b`, `a || b` and `a ?? b` may be what is shown; none of a comparison. */
function partsOf({ left, operatorToken, right }: ts.BinaryExpression): ts.Node[] {
  if (operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken) return [right];
  const isDefault = [ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken].includes(operatorToken.kind);
  return isDefault ? [left, right] : [];
}

/** Without the expressions in a template. */
function textOf(node: ts.Node): string {
  if (ts.isJsxText(node) || ts.isStringLiteralLike(node)) return node.text.trim();
  return ts.isTemplateExpression(node)
    ? [node.head, ...node.templateSpans.map(({ literal }) => literal)]
        .map(({ text }) => text)
        .join('')
        .trim()
    : '';
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
