import helmet from 'helmet';

/** Behind plain HTTP, as in a private network, a page that upgrades its own requests would not load. */
export const securityHeaders = helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } });
