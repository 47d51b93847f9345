import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { resolveHost } from '../../../src/platform/http/outgoing/checked-connector.js';

const TYPE_A = 1;
const TYPE_AAAA = 28;
const NAME_ERROR = 3;

/** A name server (RFC 1035) for one query type → addresses as bytes; what is not listed gets no answer at all. */
async function nameServer(records: Map<number, Buffer[]>): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.on('message', (query, client) => {
    const question = query.subarray(12);
    const type = question.readUInt16BE(question.indexOf(0) + 1);
    const addresses = records.get(type);
    if (addresses === undefined) return;
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180 | (addresses.length === 0 ? NAME_ERROR : 0), 2);
    header.writeUInt16BE(addresses.length, 6);
    header.fill(0, 8);
    const answers = addresses.map((address) => {
      const record = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 60, 0, address.length]);
      return Buffer.concat([record, address]);
    });
    const end = question.indexOf(0) + 5;
    socket.send(Buffer.concat([header, question.subarray(0, end), ...answers]), client.port, client.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}

describe('resolveHost', () => {
  const open: Socket[] = [];
  let folder: string;
  let hostsFile: string;

  async function ask(name: string, records: [number, Buffer[]][]): Promise<string[]> {
    const server = await nameServer(new Map(records));
    open.push(server);
    return resolveHost(name, { hostsFile, servers: [`127.0.0.1:${server.address().port}`] });
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'hosts-'));
    hostsFile = path.join(folder, 'hosts');
    await writeFile(
      hostsFile,
      '# 10.0.0.9 crm.example.com\n10.0.0.1\tCRM.example.com crm # ours\nfd00::1 crm.example.com\n10.0.0.3 old # crm.example.com\n',
    );
  });

  afterEach(() => open.splice(0).forEach((socket) => socket.close()));
  afterAll(() => rm(folder, { recursive: true }));

  const four = Buffer.from([93, 184, 216, 34]);
  const six = Buffer.concat([Buffer.from([0x20, 0x01, 0x0d, 0xb8]), Buffer.alloc(11), Buffer.from([1])]);

  it('gives all addresses of both families', async () => {
    const addresses = await ask('hooks.example.com', [
      [TYPE_A, [four, Buffer.from([127, 0, 0, 1])]],
      [TYPE_AAAA, [six]],
    ]);

    expect(addresses.toSorted()).toEqual(['127.0.0.1', '2001:db8::1', '93.184.216.34']);
  });

  it('gives those of one family when the other has none', async () => {
    expect(
      await ask('hooks.example.com', [
        [TYPE_A, [four]],
        [TYPE_AAAA, []],
      ]),
    ).toEqual(['93.184.216.34']);
  });

  it('gives none for an unknown name', async () => {
    expect(
      await ask('nowhere.example.com', [
        [TYPE_A, []],
        [TYPE_AAAA, []],
      ]),
    ).toEqual([]);
  });

  it('gives none, within the time to connect, when the server never answers', async () => {
    const started = performance.now();
    expect(await ask('silent.example.com', [])).toEqual([]);
    const elapsed = performance.now() - started;
    // A second for the first try, and longer for the second.
    expect(elapsed).toBeGreaterThan(2500);
    expect(elapsed).toBeLessThan(15_000);
  });

  it('goes by the hosts file first', async () => {
    expect(await ask('crm.example.com', [[TYPE_A, [four]]])).toEqual(['10.0.0.1', 'fd00::1']);
  });
});
