// The walls of the house (docs/architecture.md). A broken one fails `npm run check`.
const { readdirSync } = require('node:fs');

/** Which neighbours a module may enter. A new edge is a decision to be reviewed. */
const NEIGHBOURS = {
  'access-tokens': ['account'],
  account: ['recordings'],
  transcriptions: ['recordings'],
  webhooks: ['recordings'],
};

/** Modules that a team has added may enter all of these, by the door. */
const CORE = ['access-tokens', 'account', 'api-keys', 'recordings', 'transcriptions', 'webhooks'];

const MODULES = readdirSync('src/modules');
const DOORS = String.raw`\.(module|service|events)\.ts$`;

/** A module imports platform, packages, itself and its neighbours. */
const neighbourhood = MODULES.map((name) => {
  const neighbours = CORE.includes(name) ? (NEIGHBOURS[name] ?? []) : CORE;
  return {
    name: `module-${name}`,
    comment: `${name} may enter only: ${neighbours.join(', ') || 'no other module'}`,
    severity: 'error',
    from: { path: `^src/modules/${name}/` },
    to: { path: '^src/', pathNot: `^src/(platform|modules/(${[name, ...neighbours].join('|')}))/` },
  };
});

module.exports = {
  forbidden: [
    ...neighbourhood,
    {
      name: 'platform-knows-no-business',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/', pathNot: '^src/platform/' },
    },
    {
      name: 'neighbours-by-the-door',
      comment: 'A module is entered by its module, service or events file, never by its entity, DTO or presenter.',
      severity: 'error',
      from: { path: '^src/modules/([^/]+)/' },
      to: { path: '^src/modules/', pathNot: ['^src/modules/$1/', DOORS] },
    },
    {
      name: 'guards-by-the-door',
      comment: 'What each request passes asks the modules, and never reads their tables.',
      severity: 'error',
      from: { path: '^src/guards/' },
      to: { path: '^src/', pathNot: ['^src/(platform|guards)/', DOORS] },
    },
    {
      name: 'examples-by-the-door',
      comment: 'An added module gets on with what the core offers to all.',
      severity: 'error',
      from: { path: '^examples/', pathNot: String.raw`\.e2e\.ts$` },
      to: { path: '^(src|test|scripts)/', pathNot: ['^src/platform/', DOORS] },
    },
    {
      name: 'guards-only-from-the-app',
      comment: 'Controllers use the words in platform/access/; what enforces them is put together in app.*',
      severity: 'error',
      from: { path: '^src/', pathNot: String.raw`^src/(guards/|app\.)` },
      to: { path: '^src/guards/' },
    },
    {
      name: 'no-cycles',
      comment: 'Types included: emitDecoratorMetadata turns many of them into values.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-barrels',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: String.raw`/index\.ts$`, pathNot: 'node_modules' },
    },
    {
      name: 'no-test-code',
      severity: 'error',
      from: { path: '^src/', pathNot: String.raw`\.spec\.ts$` },
      to: { path: '^(test|scripts)/' },
    },
    {
      name: 'no-development-package',
      comment: 'It is not there in production.',
      severity: 'error',
      from: { path: '^src/', pathNot: String.raw`\.spec\.ts$` },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-unknown-import',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.json', '.d.ts'],
    },
  },
};
