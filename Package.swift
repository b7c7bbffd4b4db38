// swift-tools-version: 6.2
import PackageDescription

/// The strict compiler is a reviewer: every target is built the same way.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(
        name: name,
        dependencies: ["TestSupport"] + dependencies,
        swiftSettings: strict
    )
}

func system(_ name: String, pkgConfig: String? = nil, package: String) -> Target {
    .systemLibrary(
        name: name,
        path: "Sources/CModules/\(name)",
        pkgConfig: pkgConfig,
        providers: [.apt([package])]
    )
}

let package = Package(
    name: "dormouse",
    products: [
        .library(
            name: "Dormouse",
            targets: [
                "LTXCodec", "SQLiteBridge", "SQLiteWAL", "Bucket", "Handover", "Replication",
                "Replica",
            ]
        ),
        .executable(name: "dormouse", targets: ["dormouse"]),
    ],
    targets: [
        // System libraries, one shim each.
        system("CLinux", package: "libc6-dev"),
        system("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
        system("CLZ4", pkgConfig: "liblz4", package: "liblz4-dev"),
        // Ours: instructions that Swift has no spelling for.
        .systemLibrary(name: "CCRC64", path: "Sources/CModules/CCRC64"),
        system("CCurl", package: "libcurl4-openssl-dev"),
        system("CMicroHTTPD", package: "libmicrohttpd-dev"),
        system("CZstd", pkgConfig: "libzstd", package: "libzstd-dev"),
        system("CSystemd", pkgConfig: "libsystemd", package: "libsystemd-dev"),
        system("CYAML", pkgConfig: "yaml-0.1", package: "libyaml-dev"),

        // Data flows one way: samples → SQLite → WAL → LTX → bucket → mirror.
        library("DurableFiles", [.target(name: "CLinux", condition: .when(platforms: [.linux]))]),
        library("LTXCodec", ["CLZ4", "CCRC64"]),
        library("SQLiteBridge", ["CSQLite", "DurableFiles"]),
        library("SQLiteWAL"),
        library("Wire", ["LTXCodec"]),
        library("Transfer", ["CCurl", "DurableFiles", "Wire"]),
        library("Bucket", ["LTXCodec", "DurableFiles", "Wire", "Transfer"]),
        library("Handover", ["LTXCodec", "DurableFiles", "Bucket"]),
        library("Replica", ["CZstd", "LTXCodec", "SQLiteBridge", "Bucket", "DurableFiles"]),
        library(
            "Replication",
            [
                "LTXCodec", "SQLiteBridge", "SQLiteWAL", "Transfer", "Bucket", "Handover",
                "Replica", "DurableFiles",
            ]
        ),
        library(
            "Sink",
            [
                "CMicroHTTPD", "CZstd", "LTXCodec", "SQLiteBridge", "Wire", "Bucket", "Replica",
                "DurableFiles",
            ]
        ),
        library("Telemetry", ["CSystemd"]),
        library("Lifecycle", ["CLinux", "SQLiteBridge", "DurableFiles"]),
        library("Collector", ["SQLiteBridge", "DurableFiles"]),
        library(
            "Chaos",
            [
                "LTXCodec", "SQLiteBridge", "Collector", "Wire", "Bucket", "Replica", "Replication",
                "Lifecycle", "Configuration", "CommandLineKit", "DurableFiles",
            ]
        ),
        library("Configuration", ["CYAML", "Bucket", "DurableFiles", "Wire"]),
        library("CommandLineKit", ["Configuration", "Bucket", "CLinux"]),
        .executableTarget(
            name: "dormouse",
            dependencies: [
                "LTXCodec", "SQLiteBridge", "SQLiteWAL", "Transfer", "Bucket", "Handover",
                "Replication", "Replica", "Sink",
                "Telemetry", "Lifecycle", "Collector", "Configuration", "CommandLineKit", "Chaos",
                "DurableFiles", "Wire", "CLinux",
            ],
            swiftSettings: strict,
            // A push of nothing takes some ten milliseconds; a quarter of that would go into
            // finding the runtime's libraries.
            linkerSettings: [
                .unsafeFlags(["-static-stdlib"], .when(configuration: .release))
            ]
        ),

        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
        tests("DurableFilesTests", ["DurableFiles"]),
        tests("LTXCodecTests", ["LTXCodec", "CLZ4"]),
        tests("SQLiteBridgeTests", ["SQLiteBridge", "DurableFiles"]),
        tests("SQLiteWALTests", ["SQLiteWAL"]),
        tests("WireTests", ["Wire", "LTXCodec"]),
        tests("TransferTests", ["Transfer", "Wire", "DurableFiles"]),
        tests("BucketTests", ["Bucket", "LTXCodec", "DurableFiles", "Transfer", "Wire"]),
        tests("HandoverTests", ["Handover", "Bucket", "LTXCodec", "DurableFiles"]),
        tests(
            "ReplicationTests",
            [
                "Replication", "Replica", "SQLiteBridge", "SQLiteWAL", "LTXCodec", "Bucket",
                "Handover", "DurableFiles",
            ]
        ),
        tests("ReplicaTests", ["Replica", "Bucket", "LTXCodec", "SQLiteBridge", "DurableFiles"]),
        tests("MirrorTests", ["Replica", "Bucket", "LTXCodec", "SQLiteBridge", "DurableFiles"]),
        tests(
            "SinkTests",
            [
                "Sink", "Wire", "Bucket", "Replica", "Replication", "SQLiteBridge", "LTXCodec",
                "DurableFiles", "CZstd",
            ]
        ),
        tests("TelemetryTests", ["Telemetry"]),
        tests("LifecycleTests", ["Lifecycle", "SQLiteBridge", "DurableFiles"]),
        tests("CollectorTests", ["Collector", "SQLiteBridge", "SQLiteWAL"]),
        tests("ConfigurationTests", ["Configuration", "Bucket", "Collector", "Wire"]),
        tests("CommandLineKitTests", ["CommandLineKit", "Configuration", "Bucket", "Wire"]),
        tests(
            "CommandLineTests",
            ["Bucket", "LTXCodec", "Replica", "Replication", "SQLiteBridge", "Telemetry"]
        ),
        tests(
            "InteropTests",
            ["Replication", "Replica", "SQLiteBridge", "Bucket", "LTXCodec"]
        ),
        tests(
            "ChaosTests",
            [
                "Chaos", "Configuration", "Lifecycle", "SQLiteBridge", "Bucket", "LTXCodec",
                "Replica", "Wire", "DurableFiles",
            ]
        ),
        tests("StoryTests", ["Chaos", "Handover", "LTXCodec", "SQLiteBridge"]),
        tests("SystemdTests", ["Telemetry"]),
    ],
    swiftLanguageModes: [.v6]
)
