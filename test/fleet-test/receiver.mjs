// A receiver of webhooks on a host of its own. What arrives goes to a file, so that it survives the process.
import { appendFileSync } from 'node:fs';

import { Receivers } from '../chaos/receivers.mjs';

const [file, port] = process.argv.slice(2);
const receivers = new Receivers('fleet', Infinity, {
  manners: [],
  onChange: (arrival) => {
    const key = `${process.pid} ${receivers.log.indexOf(arrival)}`;
    appendFileSync(file, `${JSON.stringify({ ...arrival, key, body: arrival.body.toString(), noted: Date.now() })}\n`);
  },
});
await receivers.listen(Number(port), '0.0.0.0');
