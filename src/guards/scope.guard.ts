import { type CanActivate, type ExecutionContext, Injectable, type OnModuleInit } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { ACCESS_RULE, type AccessRule, type IdentifiedRequest } from '../access/access.decorators.js';
import { checkAccess } from '../access/check-access.js';

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
        `These handlers declare neither @RequireScope, @AllowAccessToken, @RequireKey nor @Public: ${undeclared.join(', ')}`,
      );
    }
  }
}

/** Refuses a caller that may not do what the handler declares (D14). */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly rules: AccessRulesService) {}

  canActivate(context: ExecutionContext): boolean {
    const { principal } = context.switchToHttp().getRequest<IdentifiedRequest>();
    checkAccess(principal, this.rules.of(context));
    return true;
  }
}
