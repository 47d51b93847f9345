import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { useService } from '../../src/testing/test-service.js';
import { BuiltVnotes } from '../support/cli/vnotes.js';
import { transcribe, upload } from '../support/state/recording-states.js';

const service = useService({ ROLES: 'api' });
const vnotes = BuiltVnotes.use();

describe('vnotes mcp (D84)', () => {
  it.each(['legacy', 'auto'] as const)('serves the official client over stdio (%s)', async (mode) => {
    const owner = await service.account();
    const text = `A line\u2028separator, "quoted", and\nanother line (${mode}).`;
    const id = await upload(owner, { custom_tags: '{"kind":"memo"}' });
    await transcribe(service, id, { text });
    const { environment, home } = await vnotes.user(owner);
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [vnotes.program, 'mcp'],
      env: environment,
      cwd: home,
      stderr: 'pipe',
    });
    await client.connect(transport);
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('read_transcription');
      const call = async (name: string, args: Record<string, unknown>) =>
        (await client.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>;
      const reads = [0, 1, 2].map((offset) => call('read_transcription', { recording_id: id, offset }));
      expect((await Promise.all(reads)).map((read) => read.text)).toEqual([0, 1, 2].map((n) => text.slice(n)));
      const corrected = `${text}\u2028Corrected.`;
      await call('correct_transcription', { recording_id: id, text: corrected });
      expect((await owner.get(`/v1/recordings/${id}/transcription`).expect(200)).body.text).toBe(corrected);
      await expect(client.callTool({ name: 'unknown', arguments: {} })).rejects.toThrow('Unknown tool: "unknown"');
    } finally {
      await client.close();
    }
  });

  it('answers each line that is a request, and tells what is wrong with the others', async () => {
    const owner = await service.account();
    const lines = [
      'no json',
      '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
      '',
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","id":"a","method":"ping"}',
      '{"jsonrpc":"2.0","id":7,"method":"none/such"}',
    ].join('\n');
    const answersOf = (stdout: string) =>
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { id: unknown; result?: object; error?: { code: number; message: string } })
        .toSorted((a, b) => String(a.id).localeCompare(String(b.id)));
    const person = await vnotes.user(owner);
    const { code, stdout, stderr } = await person.runWith(lines, 'mcp');
    expect([code, stderr]).toEqual([0, '']);
    expect(answersOf(stdout)).toMatchObject([
      { id: 7, error: { code: -32_601 } },
      { id: 'a', result: {} },
      { id: null, error: { code: -32_700 } },
      { id: null, error: { code: -32_600 } },
    ]);

    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","method":"notifications/initialized"}';
    const wrong = await person.with({ VNOTES_SECRET: 'vns_wrong' }).runWith(ping, 'mcp');
    expect([wrong.code, answersOf(wrong.stdout)]).toEqual([
      0,
      [{ jsonrpc: '2.0', id: 1, error: { code: -32_000, message: expect.stringMatching(/^Send a valid API key/) } }],
    ]);
    expect(wrong.stderr).toMatch(/^Send a valid API key/);
    const nowhere = await person.with({ VNOTES_URL: 'http://127.0.0.1:9' }).runWith(ping, 'mcp');
    expect(answersOf(nowhere.stdout)).toMatchObject([
      { error: { message: expect.stringMatching(/^The connection to .* failed/) } },
    ]);
    const unknown = await (await vnotes.user()).runWith(ping, 'mcp');
    expect([unknown.code, unknown.stdout]).toEqual([3, '']);
  });
});
