/// A 128-bit message id as journald knows it, printed as 32 lower-case hex digits.
public struct MessageID: Hashable, Sendable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(_ high: UInt64, _ low: UInt64) {
        self.high = high
        self.low = low
    }

    public var description: String {
        Self.hex(high) + Self.hex(low)
    }

    private static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// The kinds of record, each with its message id and its entry in `systemd/dormouse.catalog`.
///
/// An id is for ever: people search for it and the catalog explains it. A new meaning gets a
/// new kind.
public enum RecordKind: String, CaseIterable, Sendable {
    /// A push ended, whatever its outcome.
    case push
    /// A sync had to be a snapshot.
    case snapshot
    /// A checkpoint ended.
    case checkpoint
    /// The collector flushed its buffer.
    case flush
    case start
    case stop
    /// The process noticed that it had been suspended.
    case resume
    /// The database is not there yet, or not ready.
    case waiting
    /// The configuration cannot be used.
    case config
    /// The bucket is not what this device has seen acknowledged.
    case lineage
    /// The place in the WAL was lost.
    case custodyLost = "custody-lost"
    /// Something was done about files that no bucket takes.
    case backlog
    /// Something was found damaged or out of place and was set right or put aside.
    case repair
    /// Records were lost, because the log did not take them.
    case dropped
    /// A sink listens, or opened a database.
    case sinkStart = "sink-start"
    /// A sink ended.
    case sinkStop = "sink-stop"
    /// A sink could not do what it was asked to.
    case sinkFailure = "sink-failure"
    /// A sink refused a write.
    case refused
    /// A sink took a whole database.
    case ingest
    /// A live copy differs, lags, or is right again.
    case mirror
    /// The disk of a sink is full, or has room again.
    case disk
    /// A sink removed corpses.
    case sweep
    /// The process entered a phase of its life, or does not get out of one.
    case phase
    /// Samples were not taken as they came.
    case gap
    /// An actor does not get on, and the service manager is not told that all is well.
    case watchdog
    /// A lock was held when the process was to be suspended.
    case lockGuard = "lock-guard"
    /// The configuration was read again.
    case reload
    /// More time in the background was asked for.
    case `extension`
    /// Files were handed over to the transfer service.
    case handover
    /// What the transfer service says of files that it was handed.
    case receipt
    /// The transfer service put a file into a bucket, or could not.
    case upload

    public var messageID: MessageID {
        switch self {
        case .push: MessageID(0x4abf_98c4_3ade_5ca8, 0x18f6_542d_7e3f_c668)
        case .snapshot: MessageID(0x9b34_8050_552c_62a2, 0x3dec_344b_ef0f_48a7)
        case .checkpoint: MessageID(0x98a2_c60e_6676_0998, 0xc66c_5a0f_9bc8_21f1)
        case .flush: MessageID(0xcbf7_5c2c_9763_0bcd, 0xe8d3_ab6e_d11d_dfd5)
        case .start: MessageID(0x6cff_5013_3c84_1e08, 0xf7e7_c46b_87fe_89e9)
        case .stop: MessageID(0xa6d2_d551_c866_3563, 0x81ff_c88c_20d4_a64f)
        case .resume: MessageID(0xfe7b_9a4a_1ec2_e3cd, 0xfc03_4138_e0a2_9b17)
        case .waiting: MessageID(0x7170_4bf6_530b_cac7, 0x62ed_6585_2af0_4a47)
        case .config: MessageID(0x399a_de97_e32e_cfe4, 0xb8c7_c92b_81da_fd93)
        case .lineage: MessageID(0x6ffc_5cc8_deba_1231, 0x8c97_1295_675f_ed28)
        case .custodyLost: MessageID(0x4f5d_d238_c472_24b2, 0x90af_26b7_b94c_d299)
        case .backlog: MessageID(0xc6a8_eeab_1952_7e84, 0x1cfa_476a_53a2_6a34)
        case .repair: MessageID(0x9fe6_debe_d8a6_1016, 0x4490_230d_e05f_c3a4)
        case .dropped: MessageID(0xfacc_8665_d294_80c7, 0x0156_aa73_fc7a_6836)
        case .sinkStart: MessageID(0x687c_9e6d_f00c_6adf, 0x0532_8056_9635_ae59)
        case .sinkStop: MessageID(0xe967_4326_8c44_c170, 0x75ec_b6e7_fdd4_7e96)
        case .sinkFailure: MessageID(0x6dfb_b446_a509_b651, 0xc74e_52e6_a663_a0a1)
        case .refused: MessageID(0x2669_2e52_44cd_27f3, 0x9254_de33_79de_244a)
        case .ingest: MessageID(0xf7ba_8261_d5ca_8820, 0x541f_4b4d_cf1d_9dbd)
        case .mirror: MessageID(0xcc76_129c_22db_aebd, 0xe9f8_6af4_52d0_5fb6)
        case .disk: MessageID(0x38c2_eb0e_e9e7_5480, 0xb415_8fbc_cda4_bb7b)
        case .sweep: MessageID(0xa897_9e40_0189_2b80, 0xc931_bd8f_5876_9f70)
        case .phase: MessageID(0x129b_ad7b_91eb_6124, 0x2ae7_4a3f_d235_4576)
        case .gap: MessageID(0x6129_0228_aff5_d7a9, 0x7666_d0fb_d61c_16bd)
        case .watchdog: MessageID(0xbfa8_a515_6be4_7265, 0xaaee_7f8a_6a36_5be9)
        case .lockGuard: MessageID(0x0a0e_5251_be83_d325, 0xcf1a_26ff_661a_76da)
        case .reload: MessageID(0x51a2_e635_9a37_fb81, 0x14ae_c7d2_04c2_ad32)
        case .extension: MessageID(0x7c3e_bb3b_3946_effa, 0xe8dd_5cbd_76c8_0e32)
        case .handover: MessageID(0xe68a_4a1e_314b_a948, 0xc769_34e5_0a5b_cfee)
        case .receipt: MessageID(0xf99e_5e62_a4fb_8d02, 0xf6c8_10ff_d30b_4cb7)
        case .upload: MessageID(0xa4fc_71ca_cb7b_af3f, 0xecda_d471_5d0c_c484)
        }
    }
}
