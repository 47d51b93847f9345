// The import rules of the architecture (docs/architecture.md). A broken one fails `npm run check`.
const { readdirSync } = require('node:fs');

/** Which other modules a module may import. A new edge is a decision to be reviewed. */
const DEPENDENCIES = {
  'access-tokens': ['account'],
  account: ['recordings'],
  archives: ['recordings', 'transcriptions'],
  compat: ['recordings', 'transcriptions'],
  live: ['recordings', 'transcriptions'],
  mcp: ['recordings', 'transcriptions'],
  transcriptions: ['models', 'recordings'],
  users: ['recordings', 'webhooks'],
  webhooks: ['recordings'],
};

/** Modules that a team has added may import all of these, through their public files. */
const CORE = [
  'access-tokens',
  'account',
  'api-keys',
  'archives',
  'audit',
  'backups',
  'compat',
  'health',
  'live',
  'mcp',
  'models',
  'recordings',
  'transcriptions',
  'users',
  'webhooks',
];

const MODULES = readdirSync('src/modules');
/** The public files of a module, the port of engines, and what an engine reads of its model. */
const PUBLIC = String.raw`(\.(module|service|events)|/(transcription-engine|model-folder|speaker-model|installed-models))\.ts$`;

/** A module imports platform, access, packages, itself and its dependencies. */
const moduleRules = MODULES.map((name) => {
  const dependencies = CORE.includes(name) ? (DEPENDENCIES[name] ?? []) : CORE;
  return {
    name: `module-${name}`,
    comment: `${name} may import only: ${dependencies.join(', ') || 'no other module'}`,
    severity: 'error',
    from: { path: `^src/modules/${name}/` },
    to: { path: '^src/', pathNot: `^src/(platform|access|modules/(${[name, ...dependencies].join('|')}))/` },
  };
});

module.exports = {
  forbidden: [
    ...moduleRules,
    {
      name: 'platform-knows-no-business',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: '^src/', pathNot: '^src/platform/' },
    },
    {
      name: 'access-imports-platform-only',
      severity: 'error',
      from: { path: '^src/access/' },
      to: { path: '^src/', pathNot: '^src/(platform|access)/' },
    },
    {
      name: 'console-serves-files-only',
      comment: 'The console itself is a client of the public API, built from console/.',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^src/', pathNot: '^src/(platform|access|console)/' },
    },
    {
      name: 'modules-by-public-files',
      comment: 'A module is imported by its module, service or events file, never by its entity, DTO or presenter.',
      severity: 'error',
      from: { path: '^src/modules/([^/]+)/' },
      to: { path: '^src/modules/', pathNot: ['^src/modules/$1/', PUBLIC] },
    },
    {
      name: 'guards-by-public-files',
      comment: 'The guards call the services of modules and never read their tables.',
      severity: 'error',
      from: { path: '^src/guards/' },
      to: { path: '^src/', pathNot: ['^src/(platform|access|guards)/', PUBLIC] },
    },
    {
      name: 'examples-by-entries',
      comment: 'An example is a package of its own: it imports the service by its name.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^(src|test|scripts)/', pathNot: '^src/entries/' },
    },
    {
      name: 'entries-only-from-outside',
      comment: 'The entries list what packages that extend the service may import.',
      severity: 'error',
      from: { path: '^(src|test|scripts)/' },
      to: { path: '^src/entries/' },
    },
    {
      name: 'guards-only-from-the-app',
      comment: 'Controllers use the decorators in access/; what enforces them is assembled in app.*',
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
      // The testing entry starts the same temporary servers as the commands.
      to: { path: '^(test|scripts)/', pathNot: String.raw`^scripts/lib/temporary-services\.` },
    },
    {
      name: 'testing-only-for-tests',
      comment: 'What src/testing imports is not installed in production.',
      severity: 'error',
      from: { path: '^src/', pathNot: String.raw`\.spec\.ts$|^src/(testing|entries)/` },
      to: { path: '^src/testing/' },
    },
    {
      name: 'no-development-package',
      comment: 'Development packages are not installed in production.',
      severity: 'error',
      from: { path: '^src/', pathNot: String.raw`\.spec\.ts$|^src/testing/` },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-unknown-import',
      comment:
        'The console and the client are checked by the compiler: the console imports the client, which is built later.',
      severity: 'error',
      from: { path: '^(src|examples)/' },
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
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.json', '.d.ts'],
    },
  },
};
