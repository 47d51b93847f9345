import { signDelivery } from './signature.js';

const BODY = '{"event":"recording.transcribed","recording":{"id":"r1","custom_tags":{"ort":"Köln"}}}';

describe('signDelivery', () => {
  // Computed with OpenSSL: printf '%s' "$BODY" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$KEY
  it.each([
    [
      'whsec_ and base64: two keys',
      'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
      '2ff55fe0269df22f60a4d2d5456d3bca894661e55c38ca4165e812196ca8616a',
      'V5zHzdL0WuaCR+Wyw6VmrVASSHuOt51ZbMrWZfJw61A=',
    ],
    [
      'a secret of the customer’s own: its UTF-8 bytes for both',
      'my own secret – with a dash',
      '3843c9c6a3bcf61f7d4fac6141f8ec8d5df2a31ff63c58c4ded71c76bcfb1ebf',
      'to5ZjXMtyvOKU0gqvGSorffd5AuZgkwWOzGsWLav0E8=',
    ],
    [
      'whsec_ and no base64: its UTF-8 bytes for both',
      'whsec_not base64 at all',
      '10726b37e1df67cb3aa6fd8f8b51281e600992af63c71dd586e889e59385c8d3',
      '3niRbeqeZgjKqyVu8tuLH8rJludah7PX/hbZfO/EO88=',
    ],
  ])('agrees with OpenSSL: %s', (_name, secret, hex, base64) => {
    const headers = signDelivery({
      secret,
      eventId: 'evt_1',
      timestampSeconds: 1_700_000_000,
      body: Buffer.from(BODY),
    });

    expect(headers).toEqual({
      'X-Service-Signature': `sha256=${hex}`,
      'webhook-id': 'evt_1',
      'webhook-timestamp': '1700000000',
      'webhook-signature': `v1,${base64}`,
    });
  });

  it('signs the Standard Webhooks message with the previous secret, too, and the body with the new one alone (D37)', () => {
    const parts = { eventId: 'e', timestampSeconds: 1, body: Buffer.from('b') };
    const [fresh, old] = ['the new secret of it', 'the old secret of it'].map((secret) =>
      signDelivery({ ...parts, secret }),
    );
    const both = signDelivery({ ...parts, secret: 'the new secret of it', previousSecret: 'the old secret of it' });

    expect(both).toEqual({
      ...fresh,
      'webhook-signature': `${fresh?.['webhook-signature']} ${old?.['webhook-signature']}`,
    });
  });

  it.each(['whsec_', 'whsec_AAAA=', 'whsec_AAA', 'whsec_A-_A', 'whsec_=AAA'])('takes %s as text', (secret) => {
    const parts = { eventId: 'e', timestampSeconds: 1, body: Buffer.from('b') };
    const signatureOf = (given: string) => signDelivery({ ...parts, secret: given })['webhook-signature'];
    // The same bytes as a base64 secret must lead to the same key.
    expect(signatureOf(secret)).toBe(signatureOf(`whsec_${Buffer.from(secret).toString('base64')}`));
  });

  it('signs bytes, not text: what is no UTF-8 is not mended first', () => {
    const sign = (body: Buffer) => signDelivery({ secret: 'x', eventId: 'e', timestampSeconds: 1, body });
    expect(sign(Buffer.from([0xff]))).not.toEqual(sign(Buffer.from([0xfe])));
  });
});
