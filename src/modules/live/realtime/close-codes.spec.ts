import { CLOSE } from './close-codes.js';

it('has reasons that fit into a close frame (RFC 6455 §5.5), and a code for each', () => {
  const causes = Object.values(CLOSE);
  for (const { reason } of causes) expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(123);
  expect(new Set(causes.map(({ code }) => code)).size).toBe(causes.length);
});
