import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { InvitationsController, InviteesController } from './invitations.controller.js';
import { InvitationsService } from './invitations.service.js';
import { InviteesService } from './invitees.service.js';
import { MembersController } from './members.controller.js';
import { MembersService } from './members.service.js';
import { MembershipsController } from './memberships.controller.js';
import { Membership } from './membership.entity.js';
import { PasswordsService } from './passwords.service.js';
import { PeopleService } from './people.service.js';
import { Person } from './person.entity.js';
import { ProfilesService } from './profiles.service.js';
import { SessionCredentialsService } from './session-credentials.service.js';
import { Session } from './session.entity.js';
import { CurrentSessionController, SessionsController } from './sessions.controller.js';
import { SessionsService } from './sessions.service.js';
import { SignInLink } from './sign-in-link.entity.js';
import { SignInLinksService } from './sign-in-links.service.js';
import { SignInsService } from './sign-ins.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Person, Membership, Session, SignInLink])],
  controllers: [
    SessionsController,
    CurrentSessionController,
    MembershipsController,
    MembersController,
    InvitationsController,
    InviteesController,
  ],
  providers: [
    InvitationsService,
    InviteesService,
    MembersService,
    PasswordsService,
    PeopleService,
    ProfilesService,
    SessionCredentialsService,
    SessionsService,
    SignInLinksService,
    SignInsService,
  ],
  exports: [SessionCredentialsService],
})
export class PeopleModule {}
