import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http';
import type { Express } from 'express';

/**
 * Classes for the HTTP server of an Express app, whose objects are born as what Express would make of them. Express
 * sets the prototype of every request and response it is given, after which V8 no longer optimises what is done with
 * them; setting the prototype that an object has already costs nothing. Everything that Express does stays as it is.
 */
export function preparedClasses(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  return {
    IncomingMessage: bornAs(IncomingMessage, app.request),
    ServerResponse: bornAs(ServerResponse, app.response),
  };
}

/** Node's two classes are functions of the old kind, which can be called on an object of another prototype. */
function bornAs<Class extends typeof IncomingMessage | typeof ServerResponse>(base: Class, prototype: object): Class {
  const construct = base as unknown as (this: object, ...args: unknown[]) => void;
  function Prepared(this: object, ...args: unknown[]): void {
    construct.apply(this, args);
  }
  Object.setPrototypeOf(Prepared, base);
  Prepared.prototype = prototype;
  return Prepared as unknown as Class;
}
