//! What an operator and a host of a run want of the policy, by chance.

use crate::random::Random;
use crate::world::{TENANTS, profile};
use askbus_domain::{
    Dialect, Language, Millis, OnTimeout, PolicyLayer, PolicyTable, TenantId, TenantPolicy,
    WhenAbsent, Wish,
};
use askbus_wire::proto::TurnPolicy;
use std::collections::BTreeMap;

/// Nothing is set, in that many of a hundred cases.
const LEFT_OUT: u32 = 65;

fn maybe<T>(random: &mut Random, choose: impl FnOnce(&mut Random) -> T) -> Option<T> {
    (!random.percent(LEFT_OUT)).then(|| choose(random))
}

pub(crate) fn on_timeout(random: &mut Random) -> OnTimeout {
    let each = [
        (1, OnTimeout::Return),
        (1, OnTimeout::Adopt),
        (1, OnTimeout::Defer),
    ];
    random.choose(&each, OnTimeout::Return)
}

pub(crate) fn when_absent(random: &mut Random) -> WhenAbsent {
    let each = [
        (1, WhenAbsent::Wait),
        (2, WhenAbsent::Deferred),
        (2, WhenAbsent::Unattended),
    ];
    random.choose(&each, WhenAbsent::Wait)
}

fn wish(random: &mut Random) -> Wish {
    if random.percent(30) {
        Wish::Never
    } else {
        Wish::After(Millis(random.between(1_000, 12_000)))
    }
}

fn layer(random: &mut Random) -> PolicyLayer {
    PolicyLayer {
        timeout: maybe(random, wish),
        min_timeout: maybe(random, |r| Millis(r.between(1, 4_000))),
        max_timeout: maybe(random, |r| Millis(r.between(3_000, 20_000))),
        grace: maybe(random, |r| Millis(r.between(0, 5_000))),
        on_timeout: maybe(random, on_timeout),
        when_absent: maybe(random, when_absent),
        max_pending: maybe(random, |r| u32::try_from(r.between(1, 3)).unwrap_or(1)),
        unanswered_limit: maybe(random, |r| u32::try_from(r.between(0, 3)).unwrap_or(0)),
        language: maybe(random, |_| Language::Zh),
    }
}

/// What the operator set: in many runs nothing.
pub(crate) fn table(random: &mut Random) -> PolicyTable {
    let mut table = PolicyTable::default();
    if random.percent(40) {
        return table;
    }
    if random.percent(50) {
        table.all = layer(random);
    }
    let mut own = TenantPolicy {
        layer: layer(random),
        ..TenantPolicy::default()
    };
    if random.percent(20) {
        own.dialects = BTreeMap::from([(Dialect::Ask, layer(random))]);
    }
    if random.percent(20) {
        own.profiles = BTreeMap::from([(profile(), layer(random))]);
    }
    let mut insert = |name, own| {
        if let Ok(tenant) = TenantId::new(name) {
            table.tenants.insert(tenant, own);
        }
    };
    let [name, neighbour] = TENANTS;
    insert(name, own);
    // Of others, who must not be taken for the one.
    for name in [neighbour, "other"] {
        let own = TenantPolicy {
            layer: layer(random),
            ..TenantPolicy::default()
        };
        insert(name, own);
    }
    table
}

/// What a host wants, as a request says it and as the domain has it.
pub(crate) fn of_turn(random: &mut Random) -> (TurnPolicy, PolicyLayer) {
    let layer = if random.percent(50) {
        PolicyLayer::default()
    } else {
        PolicyLayer {
            language: None,
            ..self::layer(random)
        }
    };
    let millis = |m: Option<Millis>| m.map(|m| m.0);
    let said = TurnPolicy {
        timeout_ms: layer.timeout.map(|wish| match wish {
            Wish::Never => 0,
            Wish::After(wait) => wait.0,
        }),
        min_timeout_ms: millis(layer.min_timeout),
        max_timeout_ms: millis(layer.max_timeout),
        grace_ms: millis(layer.grace),
        on_timeout: layer
            .on_timeout
            .map_or_else(String::new, |w| w.as_str().to_owned()),
        when_absent: layer
            .when_absent
            .map_or_else(String::new, |w| w.as_str().to_owned()),
        max_pending: layer.max_pending,
        unanswered_limit: layer.unanswered_limit,
    };
    (said, layer)
}
