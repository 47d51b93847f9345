import type { Logger } from '@nestjs/common';
import {
  type CallToolResult,
  createMcpHandler,
  type McpHttpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server';
import { checkAccess } from '../../access/check-access.js';
import { translate } from '../../platform/errors/error.filter.js';
import type { ApiError } from '../../platform/errors/errors.js';
import { requestIdOf } from '../../platform/observability/request-log.middleware.js';
import type { ToolCaller } from './recording-tools.service.js';
import { NOTICE, resultText } from './tool-result.js';
import { type Tool, TOOLS, type ToolServices } from './tools.js';

const INSTRUCTIONS =
  'Voice notes of one account and their transcriptions. Uploads are transcribed in the background: call get_recording ' +
  `until the status is transcribed or failed. ${NOTICE}`;

/** @returns what answers one message at a time, each with a server of its own, and keeps nothing afterwards. */
export function createHandler(services: ToolServices, logger: Logger): McpHttpHandler {
  const factory = (extra: Record<string, unknown> | undefined) =>
    serverFor((extra as { caller: ToolCaller }).caller, services, logger);
  return createMcpHandler(({ authInfo }) => factory(authInfo?.extra), {
    // The tools never change, so there is nothing to listen for.
    maxSubscriptions: 0,
    onerror: (error) => logger.debug({ err: error }, 'mcp message refused'),
  });
}

function serverFor(caller: ToolCaller, services: ToolServices, logger: Logger): Server {
  const server = new Server(
    { name: 'voice-notes', title: 'Voice Note Transcription Service', version: '1' },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: TOOLS.filter((tool) => mayCall(caller, tool)).map(({ description }) => description),
  }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = TOOLS.find(({ description }) => description.name === params.name);
    if (!tool) {
      const name = JSON.stringify(params.name.slice(0, 100).toWellFormed());
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
    }
    const result = await call(tool, caller, services, params.arguments ?? {}, logger);
    return server.projectCallToolResult(result, tool.description.outputSchema);
  });
  return server;
}

const ruleOf = ({ scope }: Tool) => ({ scope, alsoScopes: [], allowAccessToken: false });

function mayCall({ principal }: ToolCaller, tool: Tool): boolean {
  try {
    checkAccess(principal, ruleOf(tool));
    return true;
  } catch {
    return false;
  }
}

/** What a handler would refuse is an error of the tool, which the assistant reads and can act upon. */
async function call(
  tool: Tool,
  caller: ToolCaller,
  services: ToolServices,
  input: unknown,
  logger: Logger,
): Promise<CallToolResult> {
  try {
    checkAccess(caller.principal, ruleOf(tool));
    const found = await tool.run(services, caller, input);
    return {
      content: [
        { type: 'text', text: NOTICE },
        { type: 'text', text: resultText(found) },
      ],
      structuredContent: { notice: NOTICE, ...found },
    };
  } catch (thrown) {
    const error = translate(thrown, requestIdOf(caller.request));
    if (error.status >= 500) {
      logger.error({ err: thrown, request_id: requestIdOf(caller.request) }, error.message);
    }
    return { isError: true, content: [{ type: 'text', text: resultText(errorOf(error)) }] };
  }
}

const errorOf = ({ code, type, message, details, retryAfter }: ApiError): object => ({
  error: { code, type, message, details, ...(retryAfter !== undefined && { retry_after: retryAfter }) },
});
