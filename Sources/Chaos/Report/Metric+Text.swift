import CommandLineKit

extension Metric {
    /// What it is, in a few words for a person.
    public var title: String {
        switch self {
        case .rowsLost: "rows lost"
        case .differences: "differing pages"
        case .forcedSnapshots: "forced snapshots"
        case .snapshots: "snapshots"
        case .rescans: "rescans"
        case .unexplainedRescans: "unexplained rescans"
        case .lineages: "lineages"
        case .locksHeld: "locks held at a suspension"
        case .lateSuspensions: "late for a suspension"
        case .exits: "ends nobody asked for"
        case .overhead: "shipped, of the ideal"
        case .bytesShipped: "bytes shipped"
        case .worstWAL: "worst WAL"
        case .worstBacklog: "worst backlog"
        case .writerStall: "longest writer stall"
        case .pushes: "pushes"
        case .pushed: "pushed"
        case .inSync: "in sync"
        case .retryable: "retryable"
        case .unavailable: "unavailable"
        case .worstStreak: "worst streak"
        case .resumedUploads: "resumed uploads"
        case .ingests: "whole databases uploaded"
        case .launches: "launches"
        case .suspensions: "suspensions"
        case .windows: "background windows"
        }
    }

    /// A value with its unit.
    public func text(_ value: Int64) -> String {
        switch unit {
        case .count: HumanText.count(value)
        case .bytes: HumanText.bytes(value)
        case .duration: HumanText.duration(.microseconds(value))
        case .ratio: "\(value / 1_000).\(Self.padded(value % 1_000 / 10))×"
        }
    }

    private static func padded(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
}

extension Allowance {
    /// What is allowed, for a person.
    public var text: String {
        switch (low, high) {
        case (let low?, let high?) where low == high: metric.text(low)
        case (let low?, let high?): "\(metric.text(low)) to \(metric.text(high))"
        case (let low?, nil): "at least \(metric.text(low))"
        case (nil, let high?): "at most \(metric.text(high))"
        case (nil, nil): "anything"
        }
    }
}
