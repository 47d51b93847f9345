import type { ClaimedDelivery } from '../deliveries.queries.js';
import { DeliverySlots } from './delivery-slots.js';
import { WebhookSendLoop } from './webhook-send-loop.js';

const DELIVERY = { accountId: 'a', url: 'https://hooks.example.com/', webhookIsFailing: false } as ClaimedDelivery;

describe('WebhookSendLoop', () => {
  const slots = () => new DeliverySlots({ connections: 1000, connectionsPerHost: 1000 });
  const release = jest.fn(async () => undefined);

  it('gives back every slot when a claim fails', async () => {
    const limits = slots();
    const claim = jest.fn().mockResolvedValueOnce([DELIVERY]).mockRejectedValue(new Error('no connection'));
    const loop = new WebhookSendLoop({ claim, release, deliver: async () => true }, limits);
    loop.signal();
    await expect(loop.run()).rejects.toThrow('no connection');
    expect([claim.mock.calls.length, limits.used]).toEqual([2, 0]);
  });

  it('gives back the slot that it was waiting for when it is closed', async () => {
    const limits = new DeliverySlots({ connections: 1, connectionsPerHost: 1 });
    const held = limits.take({ accountId: 'b', host: 'other.example.com', isFailing: false });
    const claim = jest.fn().mockResolvedValue([DELIVERY]);
    const loop = new WebhookSendLoop({ claim, release, deliver: async () => true }, limits);
    const ended = loop.run();
    while (limits.waiting === 0) await new Promise(setImmediate);
    expect(limits.waiting).toBe(1);
    loop.close();
    await ended;
    held?.release();
    expect([limits.waiting, limits.used]).toEqual([0, 0]);
  });
});
