import Lifecycle
import Testing

@Suite("One SQLite in a process")
struct SQLiteImagesTests {
    @Test("this process has one")
    func hasOne() throws {
        try SQLiteImages.requireOne()
    }

    @Test("each library counts once, however many mappings it has, and other files do not")
    func countsLibraries() {
        let maps = """
            7f00-7f01 r--p 00000000 fe:00 11 /usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6
            7f01-7f02 r-xp 00001000 fe:00 11 /usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6
            7f02-7f03 r--p 00000000 fe:00 12 /opt/my app/libsqlite3.so.0
            7f03-7f04 rw-p 00000000 00:00 0
            7f04-7f05 rw-s 00000000 fe:00 13 /data/app.db-shm
            7f05-7f06 r--p 00000000 fe:00 14 /usr/lib/libsqlite3x.so
            7ffc-7ffd rw-p 00000000 00:00 0 [stack]
            """
        #expect(
            SQLiteImages.paths(inMaps: maps) == [
                "/opt/my app/libsqlite3.so.0", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6",
            ]
        )
    }
}
