import { pipeline } from 'node:stream/promises';
import { All, Controller, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentPrincipal, RequireKey } from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { Env } from '../../platform/config/env.js';
import { MalformedRequestError } from '../../platform/errors/errors.js';
import type { JsonBody } from '../../platform/http/input/json-body.js';
import { JsonBodyLimit } from '../../platform/http/input/json-body.js';
import { MCP_PATH } from '../../platform/http/server/request-line.js';
import { ForeignOriginError, MethodNotAllowedError } from './mcp-errors.js';
import { McpService } from './mcp.service.js';

/** 2 MB: an upload of 1.5 MB in base64, or a long correction. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** More than any message needs: the SDK goes through all of them several times. */
const MAX_VALUES = 2000;

/** Streamable HTTP without sessions: each POST is a message with its answer. */
@ApiExcludeController()
@Controller()
export class McpController {
  constructor(
    private readonly mcp: McpService,
    private readonly env: Env,
  ) {}

  @All(MCP_PATH)
  @RequireKey()
  @JsonBodyLimit(MAX_BODY_BYTES)
  async answer(
    @CurrentPrincipal() principal: Principal,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    this.checkOrigin(request);
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      throw new MethodNotAllowedError();
    }
    const message = withParams((await (request.body as JsonBody).read()) as Message);
    if (hasMoreValues(message, MAX_VALUES)) throw tooManyValues();
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    await send(await this.mcp.answer({ principal, request }, message, gone.signal), response);
  }

  /** The specification asks for it against DNS rebinding. Programs that are no browsers send no Origin. */
  private checkOrigin(request: Request): void {
    const origin = request.get('origin');
    if (origin !== undefined && !this.env.corsOrigins.includes(origin)) throw new ForeignOriginError();
  }
}

type Message = Record<string, unknown>;

/** A large body is read in a thread, which gives its parts as JSON text. */
function withParams(message: Message): Message {
  const { params } = message;
  if (typeof params !== 'string') return message;
  // To parse 150,000 keys would take longer than a turn of the event loop may (D60).
  if (hasMoreKeys(params, MAX_VALUES)) throw tooManyValues();
  try {
    return { ...message, params: JSON.parse(params) as unknown };
  } catch {
    return message;
  }
}

const tooManyValues = () => new MalformedRequestError(`A message must not have more than ${MAX_VALUES} values.`);

/** Never misses a key, and may take a text in a string for one. */
function hasMoreKeys(json: string, maximum: number): boolean {
  let count = 0;
  for (const _ of json.matchAll(/"\s*:/g)) if (++count > maximum) return true;
  return false;
}

function hasMoreValues(value: object, maximum: number): boolean {
  const open: object[] = [value];
  let count = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const values: unknown[] = Array.isArray(next) ? next : Object.values(next);
    count += values.length;
    if (count > maximum) return true;
    for (const inner of values) if (typeof inner === 'object' && inner !== null) open.push(inner);
  }
  return false;
}

async function send(answer: globalThis.Response, response: Response): Promise<void> {
  response.status(answer.status);
  const type = answer.headers.get('content-type');
  if (type !== null) response.setHeader('Content-Type', type);
  if (answer.body === null) {
    response.end();
    return;
  }
  try {
    await pipeline(answer.body, response);
  } catch (error) {
    // The client has gone.
    if (!response.destroyed) throw error;
  }
}
