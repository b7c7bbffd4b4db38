import CommandLineKit

/// Options that mean the same in every verb.
enum CommonOptions {
    static let json = Flag("json", help: "print JSON instead of text")
}
