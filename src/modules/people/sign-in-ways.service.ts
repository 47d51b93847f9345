import { Injectable } from '@nestjs/common';
import { Env, type SignInWay } from '../../platform/config/env.js';
import { SignInWayOffError } from '../../platform/errors/errors.js';

/** With what people may sign in, beside OpenID providers: the operator decides (D104). */
@Injectable()
export class SignInWaysService {
  readonly all: readonly SignInWay[];

  constructor(env: Env) {
    this.all = env.signInWays;
  }

  has(way: SignInWay): boolean {
    return this.all.includes(way);
  }

  /** @throws SignInWayOffError */
  require(way: SignInWay): void {
    if (!this.has(way)) throw new SignInWayOffError(way);
  }
}
