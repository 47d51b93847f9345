import { type Command, Option } from 'commander';
import { SCOPES } from '../../scopes.js';
import { days, expiry, integer, listOf, profileName } from '../options/parsers.js';
import { examples, runAction } from './run-action.js';

export function addAccountCommands(program: Command): void {
  addKeys(program);
  program
    .command('usage')
    .description('show the plan, the quotas and what was used')
    .option('--days <number>', 'days to show, today included', integer(1, 366), 30)
    .addOption(new Option('--by <what>', 'break down by day, key or end user').choices(['day', 'key', 'user']))
    .addHelpText('after', examples('vnotes usage', 'vnotes usage --by user --days 7'))
    .action(runAction(async () => (await import('../commands/usage.js')).showUsage));
  addRetention(program);
  addProfiles(program);
  program
    .command('mcp')
    .description(
      'serve the tools of the account to an assistant (Model Context Protocol), on standard input and output',
    )
    .addHelpText('after', examples('vnotes mcp', 'claude mcp add voice-notes -- vnotes mcp --profile assistant'))
    .action(runAction(async () => (await import('../commands/mcp.js')).serveMcp));
  program
    .command('completion')
    .argument('<shell>', 'bash or zsh')
    .description('print a script that completes commands and options in your shell')
    .addHelpText('after', examples('source <(vnotes completion bash)', 'vnotes completion zsh > ~/.zfunc/_vnotes'))
    .action(runAction(async () => (await import('../completion/completion.js')).printCompletion(program)));
}

function addRetention(program: Command): void {
  program
    .command('retention')
    .description('show or set how long new recordings are kept, and show what is deleted next')
    .option('--audio-days <days>', 'delete their audio after this time, or unlimited', days)
    .option('--text-days <days>', 'delete them with their text after this time, or unlimited', days)
    .addOption(
      new Option('--delete-audio-after <state>', 'delete their audio once they are transcribed, or not').choices([
        'transcribed',
        'never',
      ]),
    )
    .addHelpText('after', examples('vnotes retention', 'vnotes retention --audio-days 30 --text-days 365'))
    .action(runAction(async () => (await import('../commands/retention.js')).showRetention));
}

function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('list, create and revoke API keys')
    .addHelpText('after', examples('vnotes keys list'));
  keys
    .command('list')
    .alias('ls')
    .description('list API keys, without revoked ones')
    .addOption(new Option('--status <status>', 'only these').choices(['active', 'expired', 'revoked']))
    .addOption(new Option('--mode <mode>', 'live or test keys (default: as your key)').choices(['live', 'test']))
    .addHelpText('after', examples('vnotes keys list --status expired'))
    .action(runAction(async () => (await import('../commands/keys.js')).listKeys));
  keys
    .command('create <name>')
    .description('create an API key; its secret is shown this once')
    .option('--scopes <list>', `separated by commas: ${SCOPES.join(', ')} (default: those of your key)`, listOf(SCOPES))
    .option('--expires <time>', '30d, 12h or a time such as 2030-01-31T12:00:00Z (default: as your key)', expiry)
    .option('--description <text>', 'what it is for')
    .addOption(
      new Option('--mode <mode>', 'live, or test for a test key (default: as your key)').choices(['live', 'test']),
    )
    .addHelpText('after', examples('vnotes keys create "Upload robot" --scopes recordings:write --expires 30d'))
    .action(runAction(async () => (await import('../commands/keys.js')).createKey));
  keys
    .command('revoke <id>')
    .description('revoke an API key at once')
    .option('--descendants', 'also the keys that it made, those that they made, and so on')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', examples('vnotes keys revoke 0199e1a0-7c1e-7a51-9d0e-6d1f2b3c4d5e'))
    .action(runAction(async () => (await import('../commands/keys.js')).revokeKey));
}

function addProfiles(program: Command): void {
  program
    .command('login')
    .description('keep the URL, key and secret of an account in a profile, and check them')
    .option('--url <url>', 'where the service is')
    .option('--key <key>', 'API key: vnk_…')
    .option('--secret <secret>', 'API secret. Others can see it in the list of processes: rather let vnotes ask for it')
    .addHelpText(
      'after',
      `\nThe secret is asked for without showing it, or read from standard input.\n${examples(
        'vnotes login',
        'vnotes login --profile work --url https://notes.example.com --key vnk_… < secret.txt',
      )}`,
    )
    .action(runAction(async () => (await import('../commands/login.js')).login));
  program
    .command('logout')
    .description('forget a profile; its key stays valid until it is revoked')
    .option('--all', 'forget all profiles')
    .addHelpText('after', examples('vnotes logout --profile work'))
    .action(runAction(async () => (await import('../commands/login.js')).logout));
  program
    .command('profiles')
    .argument('[name]', 'the profile to use from now on', profileName)
    .description('list the profiles, or choose one')
    .addHelpText('after', examples('vnotes profiles', 'vnotes profiles work'))
    .action(runAction(async () => (await import('../commands/login.js')).chooseProfile));
}
