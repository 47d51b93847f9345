import { type CanActivate, type ExecutionContext, Injectable, type OnModuleInit } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ACCESS_RULE, type AccessRule, type IdentifiedRequest } from '../access/access.decorators.js';
import { checkAccess, isPublic } from '../access/check-access.js';
import { isSameOrigin } from '../access/session-cookie.js';
import { PermissionError } from '../platform/errors/errors.js';
import { upgradeOf } from '../platform/http/server/upgrade.js';

/** Reads what handlers declare, and refuses to start a service in which one declares nothing. */
@Injectable()
export class AccessRulesService implements OnModuleInit {
  constructor(
    private readonly reflector: Reflector,
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  of(context: ExecutionContext): AccessRule {
    return this.reflector.get<AccessRule>(ACCESS_RULE, context.getHandler());
  }

  /** @throws Error naming every handler without a rule: an operation that was forgotten must not be open to all. */
  onModuleInit(): void {
    const undeclared = this.discovery.getControllers().flatMap(({ metatype, instance }) => {
      if (!metatype || !instance) return [];
      const prototype = Object.getPrototypeOf(instance) as Record<string, object>;
      return this.scanner
        .getAllMethodNames(prototype)
        .filter((name) => Reflect.hasMetadata(PATH_METADATA, prototype[name] as object))
        .filter((name) => !Reflect.hasMetadata(ACCESS_RULE, prototype[name] as object))
        .map((name) => `${metatype.name}.${name}`);
    });
    if (undeclared.length > 0) {
      throw new Error(
        `These handlers declare neither @RequireScope, @AllowAccessToken, @RequireKey, @RequireSession nor @Public: ${undeclared.join(', ')}`,
      );
    }
  }
}

/** Refuses a caller that may not do what the handler declares (D14). */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly rules: AccessRulesService) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<IdentifiedRequest>();
    const rule = this.rules.of(context);
    if (request.principal?.credential === 'session' && !isPublic(rule)) refuseOtherOrigin(request);
    checkAccess(request.principal, rule);
    return true;
  }
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A page of somebody else must do nothing with the session of its visitor. @throws PermissionError */
function refuseOtherOrigin(request: IdentifiedRequest): void {
  if (SAFE_METHODS.has(request.method) && !upgradeOf(request)) return;
  if (isSameOrigin(request)) return;
  throw new PermissionError(
    null,
    'A session is for the pages of this service. Send Sec-Fetch-Site or Origin, as browsers do.',
  );
}
