//! The people's side: HTTP, WebSocket and the panel on one public listener, with the fence, sign-in
//! and the way through to session-binding for gRPC. It decides nothing about a question: it follows
//! the log into a projection of its own, puts what people send into the inbox, and tells them what
//! became of it.

mod askers;
mod assets;
mod body;
mod caller;
mod channels;
mod drafts;
mod events;
mod explain;
mod feed;
mod fence;
mod front;
#[cfg(test)]
mod fuzz;
mod gateway;
mod history;
mod live;
mod lookup;
mod markdown;
mod mcp;
mod metrics;
mod options;
mod pace;
mod page;
mod params;
mod passthrough;
mod people;
mod plans;
mod presence;
mod projection;
mod reply;
mod routes;
mod sign_in;
mod socket;
mod studio;
mod submit;
mod trace;
mod turns;
mod view;

pub use channels::{
    ChannelError, ChannelOptions, ChannelPerson, Retries, SigningKey, Target, TargetError,
    WECHAT_LIMITS, Way,
};
pub use gateway::{Handle, start};
pub use options::{GatewayError, Listen, Options, SignIn};
