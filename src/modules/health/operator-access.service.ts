import { hash, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Env } from '../../platform/config/env.js';

/** Headers that proxies add. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via'];
const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

/** Decides whether a request outside `/v1` is the operator's (D31). */
@Injectable()
export class OperatorAccessService {
  constructor(private readonly env: Env) {}

  hasToken(request: Request): boolean {
    const { metricsToken } = this.env;
    return metricsToken !== null && sameText(request.get('authorization') ?? '', `Bearer ${metricsToken}`);
  }

  /** From the machine itself; outside production from anywhere. A proxy on the same machine connects for anybody. */
  isLocal(request: Request): boolean {
    if (this.env.trustProxy !== false || FORWARDED.some((name) => request.headers[name] !== undefined)) return false;
    // The socket's address, which no header can change.
    return this.env.nodeEnv !== 'production' || LOOPBACK.test(request.socket.remoteAddress ?? '');
  }
}

function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(a), digest(b));
}
