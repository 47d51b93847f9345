import { Injectable, Logger } from '@nestjs/common';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { MCP_PATH } from '../../platform/http/server/request-line.js';
import { RecordingToolsService, type ToolCaller } from './recording-tools.service.js';
import { TranscriptionToolsService } from './transcription-tools.service.js';

/** Answers the messages of MCP clients. The SDK is loaded with the first one: most processes never have any. */
@Injectable()
export class McpService {
  private readonly logger = new Logger(McpService.name);
  private handler: Promise<McpHttpHandler> | undefined;

  constructor(
    private readonly recordings: RecordingToolsService,
    private readonly transcriptions: TranscriptionToolsService,
  ) {}

  /** @param signal aborted when the client has gone */
  async answer(caller: ToolCaller, message: object, signal: AbortSignal): Promise<globalThis.Response> {
    this.handler ??= this.load();
    const { fetch } = await this.handler;
    const { headers } = caller.request;
    const passed = ['content-type', 'accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name'].flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as [string, string]] : [];
    });
    const request = new Request(`http://localhost${MCP_PATH}`, { method: 'POST', headers: passed, signal });
    const authInfo = { token: '', clientId: caller.principal.accountId, scopes: [], extra: { caller } };
    return await fetch(request, { parsedBody: message, authInfo });
  }

  private async load(): Promise<McpHttpHandler> {
    const { createHandler } = await import('./mcp-handler.js');
    const { recordings, transcriptions } = this;
    return createHandler({ recordings, transcriptions }, this.logger);
  }
}
