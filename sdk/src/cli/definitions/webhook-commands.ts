import { type Command, Option } from 'commander';
import { WEBHOOK_EVENTS } from '../../events/event-types.js';
import { day, integer, listOf } from '../options/parsers.js';
import { examples, runAction } from './run-action.js';

const ID = '0199e1a0-7c1e-7a51-9d0e-6d1f2b3c4d5e';

export function addWebhookCommands(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('list, create, test and listen to webhooks')
    .addHelpText('after', examples('vnotes webhooks listen'));
  addManagement(webhooks);
  addDeliveries(webhooks);
  addListen(webhooks);
}

function addManagement(webhooks: Command): void {
  webhooks
    .command('list')
    .alias('ls')
    .description('list webhooks')
    .addOption(new Option('--status <status>', 'only these').choices(['active', 'disabled']))
    .addHelpText('after', examples('vnotes webhooks list'))
    .action(runAction(async () => (await import('../webhooks/manage.js')).listWebhooks));

  webhooks
    .command('create <url>')
    .description('create a webhook; its secret is shown this once')
    .option('--events <types>', 'separated by commas (default: all but recording.partial)', listOf(WEBHOOK_EVENTS))
    .option('--secret-stdin', 'read the secret from standard input instead of having one made')
    .addHelpText('after', examples('vnotes webhooks create https://example.com/hook --events recording.transcribed'))
    .action(runAction(async () => (await import('../webhooks/manage.js')).createWebhook));

  webhooks
    .command('delete <id...>')
    .description('delete webhooks')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', examples(`vnotes webhooks delete ${ID}`))
    .action(runAction(async () => (await import('../webhooks/manage.js')).deleteWebhooks));

  webhooks
    .command('test <id>')
    .description('send a webhook.test event now, and tell what came back')
    .addHelpText('after', examples(`vnotes webhooks test ${ID}`))
    .action(runAction(async () => (await import('../webhooks/manage.js')).testWebhook));
}

function addDeliveries(webhooks: Command): void {
  webhooks
    .command('deliveries <webhook> [delivery]')
    .description('list the deliveries of a webhook, or show one with its attempts and body')
    .addOption(new Option('--status <status>', 'only these').choices(['pending', 'delivered', 'failed']))
    .option('--from <day>', 'of events on this UTC day or later', day)
    .option('--to <day>', 'of events on this UTC day or earlier', day)
    .option('-n, --limit <number>', 'results on a page', integer(1, 100), 20)
    .option('--page <number>', 'page, from 0', integer(0, 1_000_000_000))
    .option('-a, --all', 'all pages; with --json a delivery on each line')
    .addHelpText('after', examples(`vnotes webhooks deliveries ${ID} --status failed`))
    .action(runAction(async () => (await import('../webhooks/deliveries.js')).showDeliveries));

  webhooks
    .command('redeliver <webhook> [delivery]')
    .description('send one delivery again, or all that failed or were missed')
    .addOption(new Option('--status <status>', 'only these').choices(['delivered', 'failed', 'missed']))
    .option('--from <day>', 'of events on this UTC day or later', day)
    .option('--to <day>', 'of events on this UTC day or earlier', day)
    .addHelpText('after', examples(`vnotes webhooks redeliver ${ID} --from yesterday`))
    .action(runAction(async () => (await import('../webhooks/deliveries.js')).redeliver));
}

function addListen(webhooks: Command): void {
  webhooks
    .command('listen')
    .description('receive webhooks on this machine: registers one, verifies and prints events, removes it at the end')
    .option('--port <number>', 'port to listen on (default: a free one)', integer(1, 65_535))
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--public-url <url>', 'where the service reaches this machine, such as the URL of a tunnel')
    .option('--events <types>', 'separated by commas (default: all but recording.partial)', listOf(WEBHOOK_EVENTS))
    .option('--forward <url>', 'send each event on to your own server, with its headers')
    .option('--count <number>', 'end after so many events', integer(1, 1_000_000))
    .option('--no-test', 'do not send a test event at the beginning')
    .addHelpText(
      'after',
      examples(
        'vnotes webhooks listen',
        'vnotes webhooks listen --public-url https://example.ngrok.app --port 8080 --forward http://localhost:3001/hook',
      ),
    )
    .action(runAction(async () => (await import('../webhooks/listen.js')).listen));
}
